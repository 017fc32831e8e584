extension PartialFile {
    /// The state that all calls share.
    ///
    /// Every function keeps the state consistent, because a mark may arrive at any time.
    struct State: Sendable {
        /// The current checkpoint, to which marks are written.
        struct LiveCheckpoint: Sendable {
            let handle: OpenFile
            let path: String
            let generation: UInt64
            /// The offset of the rollback block in the file.
            ///
            /// The mark block follows it.
            let rollbackOffset: Int64
            /// The intervals that the checkpoint claims after its rollbacks.
            var received: IntervalSet
            /// The number of times that the checkpoint was rolled back.
            var rollbackCount: UInt64
            /// The intervals that the checkpoint and its marks claim together.
            var known: IntervalSet
            /// The slot for the next mark.
            var nextSlot = 0
            /// Whether the checkpoint records that bytes were received with secret headers.
            let isSecret: Bool

            init(_ checkpoint: Checkpoint, _ file: CheckpointNaming.NewFile, rollbackOffset: Int64) {
                (handle, path) = file
                self.rollbackOffset = rollbackOffset
                generation = checkpoint.generation
                received = checkpoint.received
                rollbackCount = 0
                known = checkpoint.received
                isSecret = checkpoint.request.hasSecretHeaders
            }

            init(_ found: CheckpointFile) {
                self.init(found.checkpoint, (found.handle, found.path), rollbackOffset: found.rollbackOffset)
                received = found.received
                rollbackCount = found.rollback?.number ?? 0
                known = found.received
            }
        }

        /// The bytes in memory; nil before a representation has begun, and after the bytes moved to ``file``.
        var body: MemoryBody?
        /// The number of representations that have begun in memory.
        var bodyNumber = 0
        /// The file, once it was found or created.
        var file: ClaimedFile?
        /// The representation of the bytes in ``file``.
        var representation: Representation?
        /// The checkpoint that describes ``file``, if it has one.
        var checkpoint: LiveCheckpoint?
        /// The intervals of the last mark, which the next checkpoint may not contain yet.
        ///
        /// If the bytes are in ``body``, only these intervals are kept when the partial file is closed.
        var marked: IntervalSet?
        /// The number of rollbacks that were decided up to the last mark or rollback.
        var epoch = 0
        /// The name that the finished file was about to get.
        var chosenName: String?
        /// The downloads of the bytes, which the next checkpoint records.
        var subscribers: [RecordedSubscriber] = []
        /// The headers that are sent but never recorded.
        var secretHeaders: HeaderFields = [:]
        /// The headers with which the bytes were received, or for which the server has proven them.
        var provenHeaders: HeaderFields = [:]
        /// Whether other headers were sent since the bytes were received or proven.
        ///
        /// If so, and if only a checksum verifies the file, the file may contain bytes of several users.
        var isMixed = false
        /// Whether any of the bytes may have been received with secret headers, which later checkpoints have to record.
        var hasSecretBytes = false
        /// Whether a checkpoint has to record secret headers, for the present bytes or for the bytes that follow.
        var isSecret: Bool { hasSecretBytes || !secretHeaders.isEmpty }
        var allocation = BlockAllocation()
        /// Whether the volume was found to have enough space for the missing bytes.
        var hasSpace = false
        /// The reason why the file accepts no more bytes.
        var failure: FileFailure?
        /// Whether the partial file was closed, discarded, or placed.
        var isClosed = false
    }
}

extension PartialFile.State {
    /// Returns whether a mark is newer than all earlier marks, and enters the mark's epoch.
    ///
    /// Marks may arrive out of order, because threads that deliver bytes write them without the lock under which they
    /// were decided.
    mutating func admitsMark(_ received: IntervalSet, _ markEpoch: Int?) -> Bool {
        if let markEpoch {
            // The bytes of a mark of an earlier epoch may have been rolled back.
            guard markEpoch >= epoch else { return false }
            if markEpoch > epoch { (epoch, marked) = (markEpoch, received) }
        }
        // Within an epoch, bytes are only added, so the larger mark is the later one.
        return received.count >= marked?.count ?? 0
    }

    /// The file, if it accepts bytes.
    var usableFile: ClaimedFile {
        get throws(FileFailure) {
            if let failure { throw failure }
            guard let file else { throw notBegun }
            return file
        }
    }

    /// The number of bytes of the representation that the checkpoint and its marks don't claim.
    var missingByteCount: Int64 {
        max(0, (representation?.length ?? 0) - (checkpoint?.known.count ?? 0))
    }

    /// The failure to report if no representation has begun, or if the partial file is closed.
    var notBegun: FileFailure {
        FileFailure(
            .other, errno: 0, operation: "use", name: "the partial file",
            reason: isClosed ? "it is closed" : "it was not started")
    }

    func close(on disk: any FileSystem) {
        if let file { disk.close(file.handle) }
        if let checkpoint { disk.close(checkpoint.handle) }
    }
}
