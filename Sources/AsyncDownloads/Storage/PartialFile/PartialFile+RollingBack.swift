extension PartialFile {
    /// Reduces what the checkpoint claims to `received`, regardless of earlier checkpoints and marks.
    ///
    /// In contrast, after ``save(_:)`` an earlier mark that claims more bytes remains valid. Bytes that were never
    /// claimed may be among those of `received`. Bytes are not removed, because those of a later response may already be
    /// in their place.
    ///
    /// - Parameter epoch: The number of rollbacks that were decided, including this one; nil if no mark or other
    ///   rollback is on its way.
    package func rollBack(to received: IntervalSet, epoch: Int? = nil) throws(DownloadError) {
        let checkpoint = withState { state in
            // A mark of the same epoch was decided after the rollback, and contains none of its bytes.
            if epoch != state.epoch {
                // Otherwise the next save would write the last mark again.
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
            // A save needs free space, a rollback in place does not.
            guard !rollBackInPlace(to: received) else { return }
            removeCheckpoint()
            throw error
        }
    }

    /// Reduces the claims of the current checkpoint to `received`, in place, and invalidates its marks.
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
            // A rollback that only invalidates marks needs no sync, because marks are valid on the same boot only.
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
            // Neither a rollback nor a removal was possible, so the disk accepts no changes at all.
        }
        releaseCheckpoint()
    }

    /// Closes the current checkpoint, so that no more marks are written to it.
    func releaseCheckpoint() {
        let checkpoint = withState { state in state.checkpoint.take() }
        if let checkpoint { store.disk.close(checkpoint.handle) }
    }
}
