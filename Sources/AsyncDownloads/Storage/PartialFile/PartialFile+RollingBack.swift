extension PartialFile {
    /// Reduces the claims of the checkpoint to `received`, regardless of earlier checkpoints and marks.
    ///
    /// In contrast, after ``save(_:)``, an earlier mark that claims more bytes remains valid. `received` may include
    /// bytes that were never claimed. No bytes are removed from the file, because bytes of a later response may already
    /// have replaced them.
    ///
    /// - Parameters:
    ///   - received: The intervals that remain.
    ///   - epoch: The number of rollbacks that were decided, including this one; nil if no mark or other rollback can
    ///     arrive out of order.
    func rollBack(to received: IntervalSet, epoch: Int? = nil) throws(DownloadError) {
        let checkpoint = withState { state in
            // A mark of the same epoch was decided after the rollback, so it is kept.
            if epoch != state.epoch {
                // Without this change, the next save would write the last mark again.
                state.marked = state.body == nil ? nil : received
                state.epoch = max(epoch ?? 0, state.epoch)
            }
            return state.checkpoint
        }
        guard let checkpoint else { return }
        do throws(DownloadError) {
            guard received.isEmpty else { return try save(received) }
            do {
                try store.disk.remove(checkpoint.path)
                if store.synchronizes { try store.disk.synchronizeDirectory(names.directory) }
            } catch {
                throw DownloadError(error)
            }
            releaseCheckpoint()
        } catch {
            // Unlike a save, a rollback in place needs no free space.
            guard !rollBackInPlace(to: received) else { return }
            removeCheckpoint()
            throw error
        }
    }

    /// Reduces the claims of the current checkpoint to `received`, without replacing it, and invalidates its marks.
    ///
    /// - Returns: Whether the rollback was written as durably as the store promises.
    func rollBackInPlace(to received: IntervalSet) -> Bool {
        let live = withState { state in state.file.flatMap { file in state.checkpoint.map { (file, $0) } } }
        guard let (file, checkpoint) = live else { return false }
        var claimed = checkpoint.received
        claimed.formIntersection(received)
        let rollback = CheckpointRollback(
            generation: checkpoint.generation, number: checkpoint.rollbackCount + 1, received: claimed)
        guard let line = rollback.encoded() else { return false }
        do throws(FileFailure) {
            try store.disk.write(
                line, to: checkpoint.handle, at: checkpoint.rollbackOffset + Int64(rollback.slotOffset))
            // A rollback that only invalidates marks isn't synced, because marks are valid only until the next boot.
            if store.synchronizes(file), claimed != checkpoint.received {
                try store.disk.synchronize(checkpoint.handle)
            }
        } catch {
            return false
        }
        withState { state in
            guard state.checkpoint?.generation == checkpoint.generation else { return }
            state.checkpoint?.rollbackCount = rollback.number
            state.checkpoint?.received = claimed
            state.checkpoint?.known = claimed
        }
        return true
    }

    /// Removes the current checkpoint, durably if the disk still works.
    func removeCheckpoint() {
        guard let checkpoint = withState({ $0.checkpoint }) else { return }
        do throws(FileFailure) {
            try store.disk.remove(checkpoint.path)
            if store.synchronizes { try store.disk.synchronizeDirectory(names.directory) }
        } catch {
            // The failure is ignored: neither a rollback nor a removal is possible, so the disk accepts no changes at
            // all.
        }
        releaseCheckpoint()
    }

    /// Closes the current checkpoint, so that no more marks are written to it.
    func releaseCheckpoint() {
        let checkpoint = withState { state in state.checkpoint.take() }
        if let checkpoint { store.disk.close(checkpoint.handle) }
    }
}
