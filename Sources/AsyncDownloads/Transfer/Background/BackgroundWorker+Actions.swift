internal import Foundation

/// The performance of what the core decides.
extension BackgroundWorker {
    /// Records the journal, and performs the actions and those that follow from them.
    func commit(_ actions: [BackgroundCore.Action]) {
        var pending = actions
        repeat {
            do throws(DownloadError) {
                try save()
            } catch {
                pending = withoutDurableRecord(pending, error)
            }
            let batch = pending
            pending = []
            for action in batch { pending += perform(action) }
        } while !pending.isEmpty
    }

    /// Whether the journal differs from its file, and has not failed to be written.
    var hasUnsavedChanges: Bool {
        guard let opened, opened.core.journal.revision.number != opened.unsavableRevision else { return false }
        return opened.hasChanges
    }

    /// Writes the journal if it differs from its file.
    private func save() throws(DownloadError) {
        guard opened?.hasChanges == true else { return }
        self.opened?.core.journal.removeUnusedGenerations()
        guard let opened else { return }
        let journal = opened.core.journal
        do throws(DownloadError) {
            try opened.file.write(journal)
        } catch {
            log.notice("the journal of a background session cannot be written: \(error)")
            self.opened?.unsavableRevision = journal.revision.number
            throw error
        }
        self.opened?.savedRevision = journal.revision.number
        self.opened?.hasFile = true
    }

    /// Returns the actions that may be performed although the journal could not be written.
    ///
    /// A task that the journal does not contain would be unknown to a later process, so its download fails. A file
    /// stays in the spool, and is placed by a later process.
    private func withoutDurableRecord(
        _ actions: [BackgroundCore.Action], _ error: DownloadError
    ) -> [BackgroundCore.Action] {
        var remaining: [BackgroundCore.Action] = []
        for action in actions {
            switch action {
            case .start(let name, _):
                let failure = withCore { core in
                    let resumeData = core.journal[name.record]?.resumeDataName
                    return core.fail(name.record, error, resumeData: resumeData, removing: [])
                }
                remaining += failure.filter { if case .start = $0 { false } else { true } }
            case .removeFiles, .place: break
            case .cancel, .emit, .end: remaining.append(action)
            }
        }
        return remaining
    }

    private func perform(_ action: BackgroundCore.Action) -> [BackgroundCore.Action] {
        guard let opened else { return [] }
        switch action {
        case .start(let name, let generation):
            guard let request = opened.core.request(for: name, resumeData: opened.spool.resumeData) else { return [] }
            attach(generation)?.start(request)
        case .cancel(let name, let generation):
            let session = opened.session
            attach(generation)?.cancel(name.text) { isFound in
                if !isFound { session.submit { $0.notFound(name) } }
            }
        case .place(let record):
            return place(record)
        case .removeFiles(let names):
            opened.spool.remove(names)
        case .emit(let record, let event):
            let interval = opened.session.clientSettings?.progressInterval ?? .zero
            transfers[record]?.emit(event, interval: interval, at: environment.time.now)
        case .end(let record, let delivery, let outcome):
            guard let transfer = transfers[record] else { return [] }
            let isReported = transfer.end(delivery, result(outcome))
            if opened.session.removeIfIdle(transfer) { transfers[record] = nil }
            if isReported { return withCore { $0.acknowledge(delivery, of: record) } }
        }
        return []
    }

    /// Processes that a task that was to be canceled does not exist; an event about its end may be on the way.
    private func notFound(_ name: DaemonTaskName) -> [BackgroundCore.Action] {
        guard let record = opened?.core.journal.record(for: name), record.isHandedOver else { return [] }
        opened?.undecided.insert(record.id)
        return settleLater()
    }

    private func place(_ id: Int) -> [BackgroundCore.Action] {
        guard let opened, let record = opened.core.journal[id], case .received(let body) = record.stage else {
            return []
        }
        let delivery = SpoolDelivery(spool: opened.spool, containers: environment.containers)
        let journal = opened.core.journal
        let chosen = delivery.chooseNames(record, body) { path in
            journal.records.contains { other in
                other.id != id && other.deliveries.contains { $0.path == path && $0.outcome == nil }
            }
        }
        if !chosen.isEmpty {
            for (delivery, path) in chosen {
                _ = withCore { core in
                    core.choose(path, for: delivery, of: id)
                    return []
                }
            }
            // Recorded before the file gets its name, so that a later process does not choose another one.
            guard (try? save()) != nil else { return [] }
        }
        guard let named = self.opened?.core.journal[id] else { return [] }
        guard let outcomes = delivery.deliver(named, body) else { return withCore { $0.bodyIsMissing(id) } }
        return withCore { $0.placed(outcomes, of: id) }
    }

    /// Returns the result that the handles of a delivery receive.
    func result(_ outcome: BackgroundDelivery.Outcome) -> Subscriber.Outcome {
        switch outcome {
        case .failed(let error): return .failure(error.error)
        case .placed(let path, let info):
            guard let absolute = path.path(in: environment.containers) else {
                return .failure(DownloadError(.storageFailure, "the container of the file is not available"))
            }
            let url = URL(fileURLWithPath: absolute)
            return .success(
                DownloadedFile(
                    url: url, byteCount: info.byteCount, fetchedByteCount: info.byteCount,
                    finalURL: URL(string: info.finalURL) ?? url, contentType: info.contentType,
                    entityTag: info.entityTag, lastModified: info.lastModified, suggestedName: info.suggestedName))
        }
    }
}
