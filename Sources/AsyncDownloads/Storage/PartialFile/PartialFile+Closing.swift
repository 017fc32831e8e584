internal import Dispatch

extension PartialFile {
    /// Releases the partial file, and keeps it as last saved or marked.
    ///
    /// - Returns: What the next opening would find: fewer bytes than were written if the disk failed to save them, and
    ///   none if another owner has the partial file.
    @discardableResult
    package func close() -> IntervalSet { end(keeping: true) }

    /// Releases the partial file and removes all its files.
    package func discard() { end(keeping: false) }

    /// Closes the partial file, and keeps the bytes that a checkpoint or a mark claims; returns them.
    @discardableResult
    private func end(keeping: Bool) -> IntervalSet {
        guard let last = takeAll() else { return IntervalSet() }
        guard let lock else { return keeping ? keep(last) : IntervalSet() }
        // A partial file without received bytes isn't worth keeping. Bytes that are still in memory were not saved.
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

    /// Closes the partial's files and returns the last state, or nil if the partial is already closed.
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
        // The checkpoint first: without its file it would later be reported as a loss.
        if let checkpoint = last.checkpoint { try? store.disk.remove(checkpoint.path) }
        if let file = last.file { try? store.disk.remove(names.path(file.claim, .partial)) }
    }
}
