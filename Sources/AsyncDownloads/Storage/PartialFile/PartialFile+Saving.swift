extension PartialFile {
    /// Makes the bytes of `received`, and then the checkpoint that describes them, as durable as the store promises.
    ///
    /// Bytes of an in-memory body stay in memory, and are kept when the partial file is closed. If a sync fails, the
    /// partial file accepts no more bytes and has to be closed and opened again.
    func save(_ received: IntervalSet) throws(DownloadError) {
        guard !isInMemory else { return withState { if $0.body != nil { $0.marked = received } } }
        do {
            try moveToFile()
        } catch {
            throw DownloadError(error)
        }
        do {
            try whileOpen { () throws(FileFailure) in
                let (file, next) = try nextCheckpoint(received)
                try file.checkOwnership(names, on: store.disk)
                try synchronize(file)
                install(try replaceCheckpoint(file, by: next), file, received)
                if store.synchronizes(file) { try store.disk.synchronizeDirectory(names.directory) }
            }
        } catch {
            noteFailure(error)
            throw DownloadError(error)
        }
    }

    /// Sets the downloads of the bytes, which the next checkpoint records.
    func setSubscribers(_ subscribers: [RecordedSubscriber]) {
        withState { $0.subscribers = subscribers }
    }

    /// Records, without a sync, that `received` has been written, in case the process ends unexpectedly.
    ///
    /// A mark is written only if the file has a checkpoint; a mark between ``begin(_:with:)`` and the first
    /// ``save(_:)`` may have to wait for the checkpoint. An error is not reported, because it loses bytes only after a
    /// crash.
    ///
    /// Several threads may call this method, so marks may arrive out of order. A mark is ignored if it belongs to an
    /// earlier epoch, or if it claims fewer bytes than an earlier mark of its epoch.
    ///
    /// - Parameters:
    ///   - received: All received intervals.
    ///   - epoch: The number of rollbacks that were decided before the mark; nil if no other mark or rollback can
    ///     arrive out of order.
    func mark(_ received: IntervalSet, epoch: Int? = nil) {
        withState { state in
            guard state.failure == nil, state.body != nil || state.file != nil, state.admitsMark(received, epoch) else {
                return
            }
            // Without a checkpoint, the mark is only recorded: the bytes are in memory, or the first checkpoint is
            // being written, and its installation writes the mark.
            guard let file = state.file, let checkpoint = state.checkpoint else { return state.marked = received }
            do throws(FileFailure) {
                try file.checkOwnership(names, on: store.disk)
                // A mark that was decided before a rollback or a restart may arrive after the checkpoint that follows
                // it.
                guard received.count > checkpoint.received.count else { return }
                state.marked = received
                state.writeMark(of: file, store)
            } catch {
                state.note(error)
            }
        }
    }

    /// Writes the first checkpoint of a long file, which claims no bytes, so that marks can be written after it.
    ///
    /// With this checkpoint, bytes survive a kill of the process from the first mark on, however long the first sync
    /// takes; without it, only from the first save on. The checkpoint isn't synced, because it claims no bytes that
    /// could be lost with it.
    func claim() {
        guard let (file, first) = try? nextCheckpoint(IntervalSet()), first.generation == 1,
            first.representation.isWorthClaiming,
            let block = try? first.encoded(), let new = try? store.naming(names, file).makeFile()
        else { return }
        do {
            try store.disk.write(block + Checkpoint.emptyBlocks, to: new.handle, at: 0)
            install(State.LiveCheckpoint(first, new, rollbackOffset: Int64(block.count)), file, IntervalSet())
        } catch {
            store.disk.close(new.handle)
            try? store.disk.remove(new.path)
        }
    }

    /// Syncs the file's bytes if the store promises that they are durable.
    ///
    /// After a failure, the partial file accepts no more bytes.
    func synchronize(_ file: ClaimedFile) throws(FileFailure) {
        guard store.synchronizes(file) else { return }
        do {
            try store.disk.synchronize(file.handle)
        } catch {
            let checkpoint = withState { state in
                state.failure = error
                return state.checkpoint
            }
            // The mark describes bytes that the system may drop from its page cache without writing them to disk.
            if let checkpoint, !rollBackInPlace(to: checkpoint.received) { removeCheckpoint() }
            throw error
        }
    }

    /// Records a failure after which the file is lost to this process, so that no more bytes are written to it.
    func noteFailure(_ failure: FileFailure) {
        withState { $0.note(failure) }
    }

    func nextCheckpoint(_ received: IntervalSet) throws(FileFailure) -> (ClaimedFile, Checkpoint) {
        try withState { state throws(FileFailure) in
            let file = try state.usableFile
            guard let representation = state.representation else { throw state.notBegun }
            var request = location.request
            request.hasSecretHeaders = state.isSecret
            request.subscribers = state.subscribers
            return (
                file,
                Checkpoint(
                    generation: (state.checkpoint?.generation ?? 0) + 1, baseName: location.baseName,
                    request: request, representation: representation,
                    received: received, token: file.claim.token, inode: file.information.inode,
                    session: store.synchronizes(file) ? nil : store.session(of: file),
                    chosenName: state.chosenName)
            )
        }
    }

    /// Replaces the checkpoint of `file`.
    func replaceCheckpoint(
        _ file: ClaimedFile, by next: Checkpoint
    ) throws(FileFailure) -> State.LiveCheckpoint {
        do {
            let current = withState { $0.checkpoint?.path }
            return State.LiveCheckpoint(try store.replaceCheckpoint(names, file, at: current, by: next))
        } catch {
            // If another owner removed the file, the rename fails with the same error.
            if error.kind == .missing { try file.checkOwnership(names, on: store.disk) }
            throw error
        }
    }

    /// Directs marks to a new checkpoint, and writes the last mark to it if the mark claims more bytes.
    func install(_ live: State.LiveCheckpoint, _ file: ClaimedFile, _ received: IntervalSet) {
        let unused = withState { $0.install(live, file, received, store) }
        if let unused { store.disk.close(unused.handle) }
    }

}

extension PartialFile.State {
    /// Stops accepting bytes if another owner has the file, or if its directory no longer exists.
    fileprivate mutating func note(_ failure: FileFailure) {
        if failure.kind == .inUse || failure.kind == .missing { self.failure = failure }
    }

    /// Directs marks to a new checkpoint, and returns the checkpoint that is now unused.
    mutating func install(
        _ live: LiveCheckpoint, _ file: ClaimedFile, _ received: IntervalSet, _ store: PartialStore
    ) -> LiveCheckpoint? {
        // A closed partial file no longer accepts a checkpoint.
        guard !isClosed else { return live }
        let old = checkpoint
        checkpoint = live
        if let marked, marked.count > received.count { writeMark(of: file, store) }
        return old
    }

    /// Writes the mark after the checkpoint; a failure is ignored, because it loses bytes only after a crash.
    ///
    /// Bytes that were received with secret headers must not be claimed by a mark of a checkpoint that doesn't record
    /// secret headers. The next checkpoint claims them.
    fileprivate mutating func writeMark(of file: ClaimedFile, _ store: PartialStore) {
        guard let checkpoint, checkpoint.isSecret || !isSecret, let marked, let session = store.session(of: file),
            let line = CheckpointMark(
                generation: checkpoint.generation, rollback: checkpoint.rollbackCount, session: session,
                received: marked
            ).encoded()
        else { return }
        let slot = Int64(Checkpoint.blockSize + checkpoint.nextSlot * CheckpointMark.slotSize)
        // After a failed write, the same slot is used again, so that the other slot keeps the previous mark.
        guard (try? store.disk.write(line, to: checkpoint.handle, at: checkpoint.rollbackOffset + slot)) != nil else {
            return
        }
        if marked.count > checkpoint.known.count { self.checkpoint?.known = marked }
        self.checkpoint?.nextSlot = (checkpoint.nextSlot + 1) % CheckpointMark.slotCount
    }
}

extension PartialStore {
    /// Writes the checkpoint to a temporary file and renames it over the old one, as durably as the store promises.
    ///
    /// The directory isn't synced.
    ///
    /// - Parameters:
    ///   - names: The names of the hidden files.
    ///   - file: The file that the checkpoint describes.
    ///   - current: The path of the old checkpoint; nil if it doesn't exist.
    ///   - next: The new checkpoint.
    func replaceCheckpoint(
        _ names: PartialNames, _ file: ClaimedFile, at current: String?, by next: Checkpoint
    ) throws(FileFailure) -> CheckpointFile {
        let block: [UInt8]
        do {
            block = try next.encoded()
        } catch {
            throw FileFailure(
                .other, errno: 0, operation: "encode", name: "the checkpoint", reason: String(describing: error))
        }
        var new = try naming(names, file).makeTemporaryFile()
        do {
            // The blocks after the record are written as well, so that a rollback or a mark doesn't extend the file.
            try disk.write(block + Checkpoint.emptyBlocks, to: new.handle, at: 0)
            if synchronizes(file) { try disk.synchronize(new.handle) }
            new.path = try naming(names, file).install(new.path, over: current)
        } catch {
            disk.close(new.handle)
            try? disk.remove(new.path)
            throw error
        }
        return CheckpointFile(
            handle: new.handle, path: new.path, checkpoint: next, rollback: nil, marks: [],
            rollbackOffset: Int64(block.count))
    }

    fileprivate func naming(_ names: PartialNames, _ file: ClaimedFile) -> CheckpointNaming {
        CheckpointNaming(owner: FileOwner(disk: disk, names: names), claim: file.claim)
    }
}

extension FileSystem {
    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: [UInt8], to file: OpenFile, at offset: Int64) throws(FileFailure) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(FileFailure) in try write(buffer, to: file, at: offset) }
        }
        try result.get()
    }
}

extension Representation {
    /// Whether a checkpoint is written early, which takes another file: the body can be continued, and may be long.
    fileprivate var isWorthClaiming: Bool { isProvable && (length ?? .max) >= BlockAllocation.minimumLength }
}
