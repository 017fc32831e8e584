internal import Foundation

/// The result of stopping a download that another downloader takes over.
enum Withdrawal: Sendable {
    /// The task has ended with this resume data; nil if it has received no bytes that can be continued.
    case stopped(resumeData: [UInt8]?)
    /// The download has already ended, so it can't be taken over.
    case ended
}

/// The transfer of downloads from and to other downloaders.
extension BackgroundWorker {
    /// Pauses a download, and calls `body` when its task has ended.
    func withdraw(
        _ transfer: BackgroundTransfer, _ body: @escaping @Sendable (Withdrawal) -> Void
    ) -> [BackgroundCore.Action] {
        guard let id = transfer.record, opened?.core.journal[id] != nil else {
            body(.ended)
            return []
        }
        withdrawals[id, default: []].append(body)
        transfer.pauseAll()
        return withCore { $0.setPaused(true, id) }
    }

    /// Reports the withdrawn downloads whose tasks have ended.
    func reportWithdrawals() {
        guard let opened, !withdrawals.isEmpty else { return }
        for (id, bodies) in withdrawals {
            let result: Withdrawal
            switch opened.core.journal[id] {
            case let record? where !record.openDeliveries.isEmpty:
                switch record.stage {
                case .handedOver: continue
                case .idle(let name): result = .stopped(resumeData: name.flatMap(opened.spool.resumeData))
                case .received: result = .ended
                }
            default: result = .ended
            }
            withdrawals[id] = nil
            for body in bodies { body(result) }
        }
    }

    /// Removes a download that another downloader has taken over; its handles end.
    func remove(_ transfer: BackgroundTransfer) -> [BackgroundCore.Action] {
        guard let opened, let id = transfer.record, let record = opened.core.journal[id] else { return [] }
        transfer.end(nil, DownloadError(.superseded))
        if opened.session.removeIfIdle(transfer) { transfers[id] = nil }
        return record.openDeliveries.flatMap { delivery in
            withCore { $0.cancel(delivery.id, of: id, keepingBytes: false) }
        }
    }

    /// Copies the bytes that another downloader has received, so that the download's task continues them.
    ///
    /// If the download already has bytes, those bytes are continued instead.
    func importBase(_ file: ImportedFile, for transfer: BackgroundTransfer) throws(DownloadError) {
        defer { environment.disk.close(file.handle) }
        guard let opened, let id = transfer.record, opened.core.journal[id]?.stage == .idle(resumeData: nil),
            opened.core.journal[id]?.base == nil
        else { return }
        if let base = try base(from: file, of: id, in: opened.spool) { _ = self.opened?.core.use(base, for: id) }
    }

    /// Copies the bytes of a canceled task; nil if they can't be continued without the task's resume data.
    func base(from resumeData: [UInt8], of id: Int) -> BackgroundBase? {
        guard let spool = opened?.spool, let resumeData = try? ResumeData(Data(resumeData)),
            let file = try? resumeData.importedFile(
                in: ResumeData.directoryOfBackgroundFile(resumeData.temporaryFileName), responseDate: nil,
                on: environment.disk)
        else { return nil }
        defer { environment.disk.close(file.handle) }
        return try? base(from: file, of: id, in: spool)
    }

    /// Copies the bytes that a later task continues; nil if no bytes can be continued.
    private func base(
        from file: ImportedFile, of id: Int, in spool: Spool
    ) throws(DownloadError) -> BackgroundBase? {
        let known = file.representation
        guard case .entityTag(let tag)? = known.validator, known.contentCoding == nil, !file.hasSecretHeaders else {
            throw .unusable("a background session cannot prove the bytes")
        }
        // At least one byte is fetched, so that a response confirms the other bytes.
        let end = min(file.received.prefixEnd, known.unverifiedFrom ?? .max, (known.length ?? .max) - 1)
        guard end > 0 else { return nil }
        do throws(FileFailure) {
            let name = try spool.importBase(file.handle, byteCount: end, of: id)
            return BackgroundBase(fileName: name, byteCount: end, entityTag: tag.rawValue, length: known.length)
        } catch {
            throw DownloadError(error)
        }
    }

    /// Appends the received part to the first bytes, and then places the file.
    func join(
        _ id: Int, _ record: BackgroundRecord, _ body: ReceivedBody
    ) -> [BackgroundCore.Action] {
        guard let opened, let base = record.base else { return withCore { $0.bodyIsMissing(id) } }
        do throws(FileFailure) {
            let inode = try opened.spool.join(base, body.fileName, length: body.info.byteCount)
            return withCore { $0.joined(id, inode: inode) }
        } catch {
            guard error.kind != .missing else { return withCore { $0.bodyIsMissing(id) } }
            let outcome = BackgroundDelivery.Outcome.failed(RecordedError(DownloadError(error)))
            return withCore { $0.placed(record.openDeliveries.map { ($0.id, outcome) }, of: id) }
        }
    }
}

extension BackgroundSession {
    /// Stops the task of a download, and pauses its handles.
    func withdraw(_ transfer: BackgroundTransfer) async throws(DownloadError) -> Withdrawal {
        let result: Result<Withdrawal, DownloadError> = await withCheckedContinuation { continuation in
            submit { worker in
                worker.withdraw(transfer) { continuation.resume(returning: .success($0)) }
            } refused: { error in
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Imports the bytes of another downloader for a paused download, unless the download has ended meanwhile.
    func importBase(
        for transfer: BackgroundTransfer,
        _ open: @escaping @Sendable (any FileSystem) throws(DownloadError) -> ImportedFile
    ) async throws(DownloadError) {
        let result: Result<Void, DownloadError> = await withCheckedContinuation { continuation in
            submit { [self] worker in
                let result = Result { () throws(DownloadError) in
                    // A shutdown waits only for earlier commands, so a later command must not open the file.
                    guard isPresent(transfer) else { return }
                    try worker.importBase(try open(worker.environment.disk), for: transfer)
                }
                continuation.resume(returning: result)
                return []
            } refused: { error in
                continuation.resume(returning: .failure(error))
            }
        }
        try result.get()
    }

    /// Removes a download that another downloader has taken over.
    func remove(_ transfer: BackgroundTransfer) async {
        submit { $0.remove(transfer) }
        await settled()
    }
}

extension BackgroundTransfer {
    /// Pauses the subscribers without informing the session, which pauses the download itself.
    func pauseAll() {
        update { state, _ in
            for id in state.subscribers.activeIDs { _ = state.subscribers.setPaused(true, id, at: .zero) }
        }
    }
}
