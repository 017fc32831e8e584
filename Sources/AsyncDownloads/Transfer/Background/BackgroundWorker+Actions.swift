internal import Foundation

/// The execution of the core's actions.
extension BackgroundWorker {
    /// Records the journal, and performs the actions and all resulting actions.
    func commit(_ actions: [BackgroundCore.Action]) {
        var pending = actions
        repeat {
            let resumeData = readResumeData(for: pending)
            do throws(DownloadError) {
                let wasUnsavable = opened?.unsavableRevision != nil
                try save()
                if wasUnsavable { pending = takeDeferred() + pending }
            } catch {
                pending = withoutDurableRecord(pending, error)
            }
            let batch = pending
            pending = []
            for action in batch { pending += perform(action, resumeData) }
        } while !pending.isEmpty
    }

    /// Whether the journal differs from its file, and its present revision has not failed to be written.
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
        var written = journal
        do throws(DownloadError) {
            if var shared = opened.shared {
                written = try shared.write(journal)
                self.opened?.shared = shared
            } else {
                try opened.file.write(journal)
            }
        } catch {
            log.notice("the journal of a background session cannot be written", error)
            self.opened?.unsavableRevision = journal.revision.number
            saveLater()
            throw error
        }
        self.opened?.core.journal = written
        self.opened?.savedRevision = written.revision.number
        self.opened?.unsavableRevision = nil
        self.opened?.hasFile = true
        if written != journal { takeOver(written, since: journal) }
    }

    /// Schedules another attempt to write the journal and to perform the deferred actions.
    private func saveLater() {
        guard let opened, opened.saveRetry == nil else { return }
        let session = opened.session
        self.opened?.saveRetry = environment.time.schedule(after: environment.saveRetryDelay) {
            session.submit { $0.saveAgain() }
        }
    }

    /// Makes the next flush write the journal again after a failure, and returns the deferred actions.
    func saveAgain() -> [BackgroundCore.Action] {
        opened?.saveRetry?.cancel()
        opened?.saveRetry = nil
        opened?.unsavableRevision = nil
        return takeDeferred()
    }

    /// Removes and returns the deferred actions.
    private func takeDeferred() -> [BackgroundCore.Action] {
        defer { opened?.deferred = [] }
        return opened?.deferred ?? []
    }

    /// Returns the actions that may be performed although the journal couldn't be written.
    ///
    /// A later process would not know a task that the journal doesn't contain, so the download of such a task fails. A
    /// received file stays in the spool until the journal can be written, or until a later process finds it.
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
                for action in failure {
                    if case .start(let next, _) = action {
                        // Its task would have no durable record, either. The next event hands it over again.
                        _ = withCore { core in
                            core.notStarted(next)
                            return []
                        }
                    } else {
                        remaining.append(action)
                    }
                }
            case .removeFiles, .place: opened?.deferred.append(action)
            case .cancel, .emit, .end, .refreshURL: remaining.append(action)
            }
        }
        return remaining
    }

    /// Reads the resume data of the tasks that are about to start; a task whose file is unreadable starts without
    /// resume data.
    private func readResumeData(for actions: [BackgroundCore.Action]) -> [DaemonTaskName: [UInt8]] {
        var result: [DaemonTaskName: [UInt8]] = [:]
        for case .start(let name, _) in actions {
            guard let opened, let file = opened.core.resumeDataName(for: name) else { continue }
            if let bytes = opened.spool.resumeData(file), !bytes.isEmpty {
                if opened.core.resumesOnOtherNetworks(name) {
                    self.opened?.core.removeResumeData(of: name, replacedBy: base(from: bytes, of: name.record))
                } else {
                    result[name] = bytes
                }
            } else {
                self.opened?.core.removeResumeData(of: name)
            }
        }
        return result
    }

    private func perform(
        _ action: BackgroundCore.Action, _ resumeData: [DaemonTaskName: [UInt8]]
    ) -> [BackgroundCore.Action] {
        guard let opened else { return [] }
        switch action {
        case .start(let name, let generation):
            guard let request = opened.core.request(for: name, resumeData: resumeData[name]) else { return [] }
            guard let daemon = attach(generation), let number = self.opened?.connections[generation]?.number else {
                return notStarted(name)
            }
            self.opened?.connections[generation]?.willStart(name)
            guard daemon.start(request) else { return notStarted(name) + sessionIsMissing(generation, number) }
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
            transfers[record]?.emit(
                event, interval: interval, at: environment.time.now, date: environment.time.date)
        case .end(let record, let delivery, let outcome):
            guard let transfer = transfers[record] else { return [] }
            transfer.end(delivery, result(outcome))
            if opened.session.removeIfIdle(transfer) { transfers[record] = nil }
        case .refreshURL(let record, let context, let error):
            return refreshURL(of: record, context, error)
        }
        return []
    }

    private func notStarted(_ name: DaemonTaskName) -> [BackgroundCore.Action] {
        withCore { core in
            core.notStarted(name)
            return []
        }
    }

    /// Handles that a task to be canceled doesn't exist; an event about its end may still arrive.
    private func notFound(_ name: DaemonTaskName) -> [BackgroundCore.Action] {
        guard let record = opened?.core.journal.record(for: name), record.isHandedOver else { return [] }
        opened?.settling.undecided.insert(record.id)
        return settleLater()
    }

    /// Returns whether a download has a path for a file that it hasn't placed, or has placed a file of another resource
    /// there that still exists.
    private func claims(
        _ path: ContainerPath, by record: BackgroundRecord, unlessOf resource: BackgroundResource
    ) -> Bool {
        record.deliveries.contains { delivery in
            switch delivery.outcome {
            case nil: return delivery.path == path
            case .placed(path, let info) where record.resource != resource:
                guard let absolute = path.path(in: environment.containers),
                    let file = try? environment.disk.information(at: absolute)
                else { return false }
                return info.describes(file)
            case .placed, .failed: return false
            }
        }
    }

    private func place(_ id: Int) -> [BackgroundCore.Action] {
        guard let opened, let record = opened.core.journal[id], case .received(let body) = record.stage else {
            return []
        }
        if body.isFragment == true { return join(id, record, body) }
        let delivery = SpoolDelivery(spool: opened.spool, containers: environment.containers)
        let journal = opened.core.journal
        let chosen = delivery.chooseNames(record, body) { path in
            journal.records.contains { $0.id != id && claims(path, by: $0, unlessOf: record.resource) }
        }
        if !chosen.isEmpty {
            for (delivery, path) in chosen {
                _ = withCore { core in
                    core.choose(path, for: delivery, of: id)
                    return []
                }
            }
            // The name is recorded before the file is placed under it, so that a later process doesn't choose another
            // one.
            guard (try? save()) != nil else {
                self.opened?.deferred.append(.place(record: id))
                return []
            }
        }
        guard let named = self.opened?.core.journal[id] else { return [] }
        // The user interface is visible only after the first unlock. Before that, files with the default protection,
        // and their directories, may be inaccessible.
        let mayBeLocked = !environment.lifecycle.isInForeground
        switch delivery.deliver(named, body, mayStartAnew: named.freshStartCount == 0, mayBeLocked: mayBeLocked) {
        case .denied:
            self.opened?.deferred.append(.place(record: id))
            saveLater()
            return []
        case .missing: return withCore { $0.bodyIsMissing(id) }
        case .wrong(let error): return withCore { $0.resumedBodyIsWrong(id, error) }
        case .delivered(let outcomes): return withCore { $0.placed(outcomes, of: id) }
        }
    }

    /// Returns the result for the handles of a delivery.
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
