/// The verification and the placement of a complete file.
extension BackgroundCore {
    /// Records the name that was chosen for a delivery, before the file gets it.
    mutating func choose(_ path: ContainerPath, for delivery: Int, of id: Int) {
        journal.update(id) { record in
            if let index = record.deliveries.firstIndex(where: { $0.id == delivery }) {
                record.deliveries[index].chosenPath = path
            }
        }
    }

    /// Records the outcomes of placing a record's file.
    mutating func placed(
        _ outcomes: [(delivery: Int, outcome: BackgroundDelivery.Outcome)], of id: Int
    ) -> [Action] {
        guard let record = journal[id], case .received(let body) = record.stage else { return [] }
        let base = record.base?.fileName
        journal.update(id) { record in
            for (delivery, outcome) in outcomes {
                guard let index = record.deliveries.firstIndex(where: { $0.id == delivery }) else { continue }
                record.deliveries[index].outcome = outcome
            }
        }
        asked.remove(id)
        var actions: [Action] = []
        // A file that could not be placed is kept for the next request, unless its bytes are wrong.
        let isKept = outcomes.allSatisfy { outcome in
            guard case .failed(let error) = outcome.outcome else { return false }
            return error.code != DownloadError.Code.checksumMismatch.name
        }
        if !isKept {
            journal.update(id) { record in
                record.stage = .idle(resumeData: nil)
                record.base = nil
                record.receivedByteCount = 0
                record.isPaused = true
            }
            actions += removal(of: [body.fileName] + [base].compactMap { $0 })
        }
        if let record = journal[id], record.deliveries.isEmpty, !record.hasUsefulBytes { journal.remove(id) }
        return actions + outcomes.map { .end(record: id, delivery: $0.delivery, $0.outcome) } + handOver()
    }

    /// Continues with the first bytes that another downloader has received, unless the record has bytes already.
    ///
    /// - Returns: Whether the bytes are used.
    mutating func use(_ base: BackgroundBase, for id: Int) -> Bool {
        guard let record = journal[id], record.stage == .idle(resumeData: nil), record.base == nil else { return false }
        journal.update(id) { record in
            record.base = base
            record.receivedByteCount = base.byteCount
            record.retries.found(base.byteCount)
        }
        return true
    }

    /// Processes that the base and the fragment of a record were joined in the file of the base.
    mutating func joined(_ id: Int, inode: UInt64) -> [Action] {
        guard let record = journal[id], case .received(var body) = record.stage, let base = record.base else {
            return []
        }
        let fragment = body.fileName
        (body.fileName, body.inode, body.modificationTime, body.isFragment) = (base.fileName, inode, nil, nil)
        journal.update(id) { record in
            record.base = nil
            record.stage = .received(body)
        }
        return removal(of: [fragment]) + [.place(record: id)]
    }

    /// Processes that a file does not have the expected digest although it may consist of several responses.
    ///
    /// Nothing was placed. Without the earlier bytes, the digest may be right.
    mutating func resumedBodyIsWrong(_ id: Int, _ error: DownloadError) -> [Action] {
        guard let record = journal[id], case .received(let body) = record.stage else { return [] }
        return startAnew(id, .digestMismatch, otherwise: error, removing: [body.fileName])
    }

    /// Processes that the file of a record is neither in the spool nor at a destination.
    mutating func bodyIsMissing(_ id: Int) -> [Action] {
        startAnew(
            id, .partialMissing, otherwise: DownloadError(.taskLost, "the finished file does not exist"), removing: [])
    }
}
