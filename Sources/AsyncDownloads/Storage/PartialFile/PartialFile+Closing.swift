internal import Dispatch

extension PartialFile {
    /// Releases the partial file, and keeps it as last saved or marked.
    ///
    /// - Returns: The bytes that the next opening would find: fewer than were written if the disk failed to save them,
    ///   and none if another owner has the partial file.
    @discardableResult
    func close() -> IntervalSet { end(keeping: true) }

    /// Releases the partial file and removes all its files.
    func discard() { end(keeping: false) }

    /// Closes the partial file, and keeps the bytes that a checkpoint or a mark claims; returns them.
    @discardableResult
    private func end(keeping: Bool) -> IntervalSet {
        guard let last = takeAll() else { return IntervalSet() }
        guard let lock else { return keeping ? keep(last) : IntervalSet() }
        // A partial file whose checkpoint and marks claim no bytes is removed.
        let known = keeping ? last.checkpoint.flatMap { $0.known.isEmpty ? nil : $0.known } : nil
        let isOwner = isOwner(last)
        if known == nil, isOwner { remove(last) }
        lock.release(removing: known == nil && isOwner)
        guard isOwner, let known else { return IntervalSet() }
        if location.isSpilled { store.bodies?.spilled.closed(location, byteCount: known.upperBound, in: store) }
        return known
    }

    /// Whether the files still exist and this process may remove them.
    private func isOwner(_ last: State) -> Bool {
        guard let file = last.file else { return true }
        do {
            try file.checkOwnership(names, on: store.disk)
            return true
        } catch {
            return error.kind != .inUse && error.kind != .missing
        }
    }

    /// Closes the partial file's files and returns the last state, or nil if the partial file is already closed.
    func takeAll() -> State? {
        let last: State? = withState { state in
            guard !state.isClosed else { return nil }
            let last = state
            state = State(isClosed: true)
            return last
        }
        guard let last else { return nil }
        calls.wait()
        last.close(on: store.disk)
        return last
    }

    /// Removes the checkpoint and the file of `last` from disk.
    private func remove(_ last: State) {
        // The checkpoint is removed first: a checkpoint without its file would later be reported as a loss.
        if let checkpoint = last.checkpoint { try? store.disk.remove(checkpoint.path) }
        if let file = last.file { try? store.disk.remove(names.path(file.claim, .partial)) }
    }
}

extension PartialFile {
    /// Discards the existing bytes, and begins a new representation.
    ///
    /// The old checkpoint is removed before the first byte of the new representation is written, so that after a crash
    /// no checkpoint describes bytes of another representation. After an error, the partial file accepts no bytes until
    /// another call of this method succeeds.
    ///
    /// If the bytes are written to a file as they arrive and their length is known, the method throws if the volume has
    /// not enough free space.
    ///
    /// - Parameters:
    ///   - representation: The new representation.
    ///   - credentials: The secret headers with which the bytes are received; if nil, the headers that were last set
    ///     with ``useCredentials(_:)``.
    func begin(_ representation: Representation, with credentials: HeaderFields? = nil) throws(DownloadError) {
        do throws(FileFailure) {
            try whileOpen { () throws(FileFailure) in
                if try !beginInMemory(representation, credentials) { try replaceFile(representation, credentials) }
            }
        } catch {
            // The old file may still exist, and must not receive bytes of another representation.
            withState { if !$0.isClosed { $0.failure = error } }
            throw DownloadError(error)
        }
    }

    private func replaceFile(
        _ representation: Representation, _ credentials: HeaderFields?
    ) throws(FileFailure) {
        try removeCheckpointAndFile()
        let file = try ClaimedFile.make(names, isExclusive: lock?.isExclusive == true, on: store.disk)
        let headers: HeaderFields
        do throws(FileFailure) {
            try file.checkSpace(for: representation.length ?? 0, names, on: store.disk)
            headers = try withState { state throws(FileFailure) in
                // A concurrent close has already set `isClosed`, and waits for this call to return.
                if state.isClosed { throw state.notBegun }
                let headers = credentials ?? state.secretHeaders
                state = State(
                    file: file, representation: representation, epoch: state.epoch, secretHeaders: headers,
                    provenHeaders: headers,
                    hasSecretBytes: !headers.isEmpty || representation.hasUnverifiedCredentials, hasSpace: true)
                moved { $0.volume = file.volume }
                return headers
            }
        } catch {
            store.disk.close(file.handle)
            try? store.disk.remove(names.path(file.claim, .partial))
            throw error
        }
        if !representation.hasUnverifiedCredentials {
            CredentialLedger.shared.note(headers, for: file.claim.token)
        }
        claim()
    }

    /// Removes the checkpoint, then the file that it describes; each is removed from disk and then from the state.
    private func removeCheckpointAndFile() throws(FileFailure) {
        let (checkpoint, file) = try withState { state throws(FileFailure) in
            if state.isClosed || state.failure?.kind == .inUse { _ = try state.usableFile }
            return (state.checkpoint, state.file)
        }
        if let file { try file.checkOwnership(names, on: store.disk) }
        if let checkpoint {
            try store.disk.remove(checkpoint.path)
            releaseCheckpoint()
        }
        if let file {
            try store.disk.remove(names.path(file.claim, .partial))
            let isOurs = withState { state in
                guard !state.isClosed else { return false }
                state = State(epoch: state.epoch, secretHeaders: state.secretHeaders)
                return true
            }
            if isOurs { store.disk.close(file.handle) }
        }
    }
}
