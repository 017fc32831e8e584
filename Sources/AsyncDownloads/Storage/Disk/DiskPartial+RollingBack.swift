extension DiskPartial {
    func rollBack(to received: IntervalSet) throws(DownloadError) {
        // A save would go on with what the last mark said.
        let checkpoint = withState { state in
            state.marked = nil
            return state.checkpoint
        }
        guard let checkpoint else { return }
        do throws(DownloadError) {
            guard received.isEmpty else { return try save(received) }
            do {
                try store.disk.remove(names.checkpoint)
                if store.synchronizes { try store.disk.synchronizeDirectory(names.directory) }
            } catch {
                throw DownloadError(error)
            }
            withState { $0.checkpoint = nil }
            store.disk.close(checkpoint.handle)
        } catch {
            // A save needs space, a rollback in place does not.
            guard !rollBack(to: received) else { return }
            removeCheckpoint()
            throw error
        }
    }

    /// Lets the present checkpoint claim no more than it claims of `received`, in place, and makes its marks void.
    ///
    /// - Returns: Whether that was written, as durably as the store promises.
    func rollBack(to received: IntervalSet) -> Bool {
        let live = withState { state in state.file.flatMap { file in state.checkpoint.map { (file, $0) } } }
        guard let (file, checkpoint) = live else { return false }
        var claimed = checkpoint.received
        claimed.truncate(to: received.upperBound)
        let rollback = CheckpointRollback(
            generation: checkpoint.generation, number: checkpoint.rollbackCount + 1, received: claimed)
        guard let line = rollback.encoded() else { return false }
        do throws(FileFailure) {
            try store.disk.write(
                line, to: checkpoint.handle, at: checkpoint.rollbackOffset + Int64(rollback.slotOffset))
            // Marks are of this run of the machine only, and so is their end.
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

    /// Removes the present checkpoint, durably as far as the disk still does what it is told.
    func removeCheckpoint() {
        guard let checkpoint = withState({ $0.checkpoint }) else { return }
        do throws(FileFailure) {
            try store.disk.remove(names.checkpoint)
            if store.synchronizes { try store.disk.synchronizeDirectory(names.directory) }
        } catch {
            // Neither could be done: the disk takes no changes any more.
        }
        let isOurs = withState { state in
            defer { state.checkpoint = nil }
            return state.checkpoint != nil
        }
        if isOurs { store.disk.close(checkpoint.handle) }
    }
}
