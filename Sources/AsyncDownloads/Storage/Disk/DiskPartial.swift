internal import Dispatch

/// An open partial file with its checkpoint.
///
/// ## Ownership
///
/// The lock file keeps other processes out. Where locks do not work, as on some network file systems, bytes of two
/// owners are still never combined:
///
/// - Each new file has a random name, so two processes that start a download write two files.
/// - A process that continues a file first renames it to a new name. A rename succeeds for one process only, and takes
///   the file from an owner that is still running: the next ``save(_:)``, ``mark(_:)``, or ``place(at:length:)`` of
///   that owner detects that its name is gone and fails with ``DownloadError/Code/partialInUse``. The checkpoint
///   identifies the file by the constant part of its name and by its inode number, so that it needs no change that a
///   crash could separate from the rename.
/// - Until then both processes write the same bytes at the same offsets, because one file contains one representation.
///   For this to hold, what a checkpoint may ever have claimed is never truncated: a file that is longer than its
///   checkpoint claims stays so until it is finished. The bytes beyond the claim do not count as progress (rule 41).
/// - The file becomes the destination by a rename from the owner's name, which cannot succeed for any other process.
///
/// ## Order of writes
///
/// The checkpoint is replaced after the bytes that it describes were synced, never before (rule 38). If a sync fails, a
/// later successful sync proves nothing, because the system may have dropped the bytes. After a failed sync the partial
/// therefore accepts no more bytes, its marks are rolled back, and the next opening finds what the last checkpoint
/// claims.
final class DiskPartial: Partial {
    let finding: PartialFinding

    let store: DiskStore
    let location: PartialLocation
    let names: PartialNames
    let lock: PartialLock
    private let state: Mutex<State>
    /// The calls that are using the file.
    ///
    /// Closing waits for them, because the system reuses a descriptor's number.
    private let calls = DispatchGroup()

    init(
        store: DiskStore, location: PartialLocation, names: PartialNames, lock: PartialLock,
        opened: PartialOpener.Opened
    ) {
        self.store = store
        self.location = location
        self.names = names
        self.lock = lock
        finding = opened.finding
        var state = State()
        if case .bytes(let representation, let received) = opened.finding {
            state.representation = representation
            state.chosenName = opened.checkpoint?.checkpoint.chosenName
            state.hasSecretBytes = opened.checkpoint?.checkpoint.request.hasSecretHeaders ?? false
            state.checkpoint = opened.checkpoint.map { found in
                var live = State.LiveCheckpoint(found)
                (live.known, live.nextSlot) = (received, opened.nextSlot)
                return live
            }
        }
        state.secretHeaders = location.secretHeaders
        state.file = opened.file
        self.state = Mutex(state)
    }

    var volume: UInt64? { lock.volume }

    var waitsForDisk: Bool { store.synchronizes || withState { $0.file?.volume == .other } }

    var allowsGaps: Bool { withState { $0.file?.volume != .diskWithoutGaps } }

    deinit {
        close()
    }

    /// The state that all calls share.
    ///
    /// Every function keeps it consistent, because a mark may arrive at any time.
    struct State: Sendable {
        /// The current checkpoint, which marks are written to.
        struct LiveCheckpoint: Sendable {
            let handle: OpenFile
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
            /// The slot that the next mark is written to.
            var nextSlot = 0
            /// Whether the checkpoint says that bytes were received with secret headers.
            let isSecret: Bool

            init(_ checkpoint: Checkpoint, _ handle: OpenFile, rollbackOffset: Int64) {
                self.handle = handle
                self.rollbackOffset = rollbackOffset
                generation = checkpoint.generation
                received = checkpoint.received
                rollbackCount = 0
                known = checkpoint.received
                isSecret = checkpoint.request.hasSecretHeaders
            }

            init(_ found: CheckpointFile) {
                self.init(found.checkpoint, found.handle, rollbackOffset: found.rollbackOffset)
                received = found.received
                rollbackCount = found.rollback?.number ?? 0
                known = found.received
            }
        }

        /// The file, once it was found or created.
        var file: PartialFile?
        var representation: Representation?
        /// The checkpoint that describes ``file``, if it has one.
        var checkpoint: LiveCheckpoint?
        /// The intervals of the last mark, which may be missing from the next checkpoint.
        var marked: IntervalSet?
        /// The number of rollbacks that were decided before the last mark or rollback.
        var epoch = 0
        /// The name that the finished file was about to get.
        var chosenName: String?
        /// The headers that are sent but never recorded.
        var secretHeaders: HeaderFields = [:]
        /// Whether any of the bytes may have been received with secret headers, which later checkpoints have to record.
        var hasSecretBytes = false
        /// Whether a checkpoint of the present bytes, and of those that follow, has to say that they are a user's.
        var isSecret: Bool { hasSecretBytes || !secretHeaders.isEmpty }
        var allocation = BlockAllocation()
        /// Whether the volume was found to have enough space for the missing bytes.
        var hasSpace = false
        /// The reason why the file accepts no more bytes.
        var failure: FileFailure?
        /// Whether the partial was closed, discarded, or placed.
        var isClosed = false
    }

    /// Runs `body` on the state.
    ///
    /// Apart from the short write of a mark, `body` must not wait for the disk.
    func withState<Result: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }

    /// Returns the file if it accepts bytes and, as far as is known, this process still owns it.
    func usableFile() throws(FileFailure) -> PartialFile {
        try withState { state throws(FileFailure) in try state.usableFile }
    }

    /// Runs `body` with the file, which stays open until `body` returns, even if the partial is closed meanwhile.
    func withFile<Value>(
        _ body: (PartialFile) throws(FileFailure) -> Value
    ) throws(FileFailure) -> Value {
        let file = try withState { state throws(FileFailure) in
            let file = try state.usableFile
            calls.enter()
            return file
        }
        defer { calls.leave() }
        return try body(file)
    }

    /// Runs `body`, and makes a concurrent close wait for it; throws if the partial is already closed.
    func whileOpen<Value>(_ body: () throws(FileFailure) -> Value) throws(FileFailure) -> Value {
        try withState { state throws(FileFailure) in
            if state.isClosed { throw state.notBegun }
            calls.enter()
        }
        defer { calls.leave() }
        return try body()
    }

    func updateRepresentation(_ representation: Representation) {
        withState { if !$0.isClosed { $0.representation = representation } }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
        do {
            try withFile { file throws(FileFailure) in
                try makeRoom(for: file, offset..<offset + Int64(bytes.count))
                try store.disk.write(bytes, to: file.handle, at: offset)
            }
        } catch {
            throw DownloadError(error)
        }
    }

    /// Allocates the next blocks; before the first allocation, throws if the volume lacks space for the missing bytes.
    private func makeRoom(for file: PartialFile, _ write: Range<Int64>) throws(FileFailure) {
        let (range, missing) = withState { state -> (Range<Int64>?, Int64?) in
            guard let range = state.allocation.extend(for: write, length: state.representation?.length) else {
                return (nil, nil)
            }
            defer { state.hasSpace = true }
            return (range, state.hasSpace ? nil : state.missingByteCount)
        }
        // Blocks for a part of the missing bytes may already be allocated.
        if let missing { try file.checkSpace(for: missing - BlockAllocation.step, names, on: store.disk) }
        if let range { try file.allocate(range, on: store.disk) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DownloadError) -> Int {
        do {
            return try withFile { file throws(FileFailure) in
                try store.disk.read(into: buffer, from: file.handle, at: offset)
            }
        } catch {
            throw DownloadError(error)
        }
    }

    @discardableResult
    func close() -> IntervalSet { end(keeping: true) }

    func discard() { end(keeping: false) }

    /// Closes the partial, and keeps its files if a checkpoint claims bytes; returns what the checkpoint claims.
    @discardableResult
    private func end(keeping: Bool) -> IntervalSet {
        guard let last = takeAll() else { return IntervalSet() }
        // A partial without received bytes isn't worth keeping.
        let known = keeping ? last.checkpoint.flatMap { $0.known.isEmpty ? nil : $0.known } : nil
        let isOwner = isOwner(last)
        if known == nil, isOwner { remove(last) }
        lock.release(removing: known == nil && isOwner)
        return isOwner ? known ?? IntervalSet() : IntervalSet()
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
        if last.checkpoint != nil { try? store.disk.remove(names.checkpoint) }
        if let file = last.file { try? store.disk.remove(names.path(file.claim, .partial)) }
    }
}

extension DiskPartial.State {
    /// The file, if it accepts bytes.
    var usableFile: PartialFile {
        get throws(FileFailure) {
            if let failure { throw failure }
            guard let file else { throw notBegun }
            return file
        }
    }

    /// The number of bytes of the representation that were missing when the partial was opened.
    fileprivate var missingByteCount: Int64 {
        max(0, (representation?.length ?? 0) - (checkpoint?.known.count ?? 0))
    }

    /// The failure to report when there is no file.
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
