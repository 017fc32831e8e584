internal import Foundation

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

/// The bytes of an unfinished in-memory body, and their representation.
struct MemoryBody: Sendable {
    var representation: Representation
    private(set) var received = IntervalSet()
    private var bytes = Data()

    init(_ representation: Representation) {
        self.representation = representation
    }

    /// Whether a later request can continue the body.
    var isResumable: Bool {
        !received.isEmpty && representation.validator != nil && representation.contentCoding == nil
    }

    /// The memory that the body uses, in bytes.
    var byteCount: Int { bytes.count }

    /// Writes all of `source` at `offset`.
    mutating func write(_ source: UnsafeRawBufferPointer, at offset: Int64) {
        let start = Int(offset)
        defer { received.insert(offset..<offset + Int64(source.count)) }
        // Most small bodies arrive at once.
        if start == 0, bytes.isEmpty { return bytes = Data(source) }
        if start > bytes.count { bytes.append(Data(count: start - bytes.count)) }
        let end = min(bytes.count, start + source.count)
        if start < end {
            bytes.replaceSubrange(start..<end, with: UnsafeRawBufferPointer(rebasing: source[..<(end - start)]))
        }
        UnsafeRawBufferPointer(rebasing: source[(end - start)...]).withMemoryRebound(to: UInt8.self) { rest in
            bytes.append(rest)
        }
    }

    /// Discards the bytes that are not in `received`.
    mutating func rollBack(to received: IntervalSet) {
        self.received.formIntersection(received)
        bytes = bytes.prefix(Int(self.received.upperBound))
    }

    /// Copies up to `buffer.count` bytes from `offset`, and returns the number of copied bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        let start = min(Int(offset), bytes.count)
        let count = min(buffer.count, bytes.count - start)
        if count > 0 { bytes.copyBytes(to: buffer, from: start..<start + count) }
        return count
    }

    /// Returns the first `length` bytes.
    func prefix(_ length: Int64) -> Data { bytes.prefix(Int(length)) }
}

extension MemoryBody {
    /// Writes the received bytes from `offset` on to `file`.
    func write(to file: OpenFile, from offset: Int64, on disk: any FileSystem) throws(FileFailure) {
        for range in received.ranges where range.upperBound > offset {
            let start = max(offset, range.lowerBound)
            let bytes = prefix(range.upperBound).dropFirst(Int(start))
            let result = bytes.withUnsafeBytes { buffer in
                Result { () throws(FileFailure) in try disk.write(buffer, to: file, at: start) }
            }
            try result.get()
        }
    }
}

/// The bytes in memory, and their move to a file.
extension PartialFile {
    /// The usual length up to which bytes are kept in ``Medium/lockedMemory``.
    ///
    /// If the process is killed, up to this many bytes are lost. Therefore, a body of unknown length that could be
    /// continued is not kept in memory.
    static let bufferedLength: Int64 = 64 << 10

    /// The maximum number of bytes in memory.
    private var memoryLimit: Int64 {
        switch medium {
        case .memory: .max
        case .lockedMemory: store.bufferedLength
        case .file: 0
        }
    }

    /// Begins a representation in memory; returns false if its bytes have to be in a file.
    func beginInMemory(
        _ representation: Representation, _ credentials: HeaderFields?
    ) throws(FileFailure) -> Bool {
        try withState { state throws(FileFailure) in
            switch medium {
            case .file: return false
            case .lockedMemory:
                (state.body, state.marked) = (nil, nil)
                guard representation.length.map({ $0 <= store.bufferedLength }) ?? !representation.isProvable else {
                    moved { $0.medium = .file }
                    return false
                }
            case .memory: break
            }
            if let failure = state.failure { throw failure }
            state.body = MemoryBody(representation)
            state.bodyNumber += 1
            state.marked = nil
            if let credentials { state.secretHeaders = credentials }
            (state.provenHeaders, state.isMixed) = (state.secretHeaders, false)
            return true
        }
    }

    /// Writes the bytes to memory; returns false if they have to be in a file.
    func writeToMemory(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileFailure) -> Bool {
        let limit = memoryLimit
        guard offset + Int64(bytes.count) <= limit else { return false }
        return try withState { state throws(FileFailure) in
            guard state.body != nil else { return false }
            if let failure = state.failure { throw failure }
            state.body?.write(bytes, at: offset)
            return true
        }
    }
}
