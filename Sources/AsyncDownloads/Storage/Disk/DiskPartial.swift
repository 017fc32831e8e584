internal import Dispatch

/// One open partial file with its checkpoint.
///
/// ## One owner
///
/// The lock keeps other processes out. Where a lock does not work, as on some network file systems, nothing is ever
/// made of two owners' bytes all the same:
///
/// - Each new file has a random name, so two processes that begin write two files.
/// - Who continues a file renames it to a name of its own first. A rename succeeds for one process only, and takes the
///   file away from an owner that is still alive: that one's next ``save(_:)``, ``mark(_:)`` or ``place(at:length:)``
///   finds its name gone and ends with ``DownloadError/Code/partialInUse``. The checkpoint knows the file by the
///   lasting part of its name and by its number, so it needs no change that a crash could separate from the rename.
/// - Until then both write the same bytes at the same places, since one file holds one representation. For this to
///   hold, what a checkpoint may ever have claimed is never cut off: a file that is longer than its checkpoint says
///   stays so until it is finished. The bytes behind are not taken as progress (rule 41).
/// - A file becomes the destination by a rename from the owner's own name, which cannot succeed for anybody else.
///
/// ## What is said of the bytes
///
/// The checkpoint is replaced after the bytes that it speaks of were synced, never before (rule 38). A sync that fails
/// once proves nothing when it succeeds later, since the system may have dropped the bytes: so after one the partial
/// takes no more bytes, its marks are rolled back, and what the last checkpoint claims is what the next opening finds.
final class DiskPartial: Partial {
    let finding: PartialFinding

    let store: DiskStore
    let location: PartialLocation
    let names: PartialNames
    let lock: PartialLock
    private let state: Mutex<State>
    /// The calls that use the file now, for which closing waits: a descriptor's number is given to others at once.
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

    deinit {
        close()
    }

    /// What the calls have in common; every function leaves it consistent, since a mark may come at any time.
    struct State: Sendable {
        /// The checkpoint that is in place, for marks.
        struct LiveCheckpoint: Sendable {
            let handle: OpenFile
            let generation: UInt64
            /// Where the block of the rollback begins; the block of the marks follows.
            let rollbackOffset: Int64
            /// What it claims, after its rollbacks.
            var received: IntervalSet
            /// How often it was rolled back.
            var rollbackCount: UInt64
            /// What it and the marks behind it say together.
            var known: IntervalSet
            /// Which slot the next mark goes to.
            var nextSlot = 0

            init(_ checkpoint: Checkpoint, _ handle: OpenFile, rollbackOffset: Int64) {
                self.handle = handle
                self.rollbackOffset = rollbackOffset
                generation = checkpoint.generation
                received = checkpoint.received
                rollbackCount = 0
                known = checkpoint.received
            }

            init(_ found: CheckpointFile) {
                self.init(found.checkpoint, found.handle, rollbackOffset: found.rollbackOffset)
                received = found.received
                rollbackCount = found.rollback?.number ?? 0
                known = found.received
            }
        }

        /// The file, once something was found or begun.
        var file: PartialFile?
        var representation: Representation?
        /// The checkpoint that speaks of ``file``, where there is one.
        var checkpoint: LiveCheckpoint?
        /// What the last mark said, which the next checkpoint may not know of yet.
        var marked: IntervalSet?
        /// The name that the finished file was about to get.
        var chosenName: String?
        /// The headers that are sent and never recorded.
        var secretHeaders: HeaderFields = [:]
        /// Whether any of the bytes may have been received with such headers, which the checkpoint goes on to say.
        var hasSecretBytes = false
        var allocation = BlockAllocation()
        /// Whether the volume was found to have room for the rest.
        var hasSpace = false
        /// Why the file takes no more bytes.
        var failure: FileFailure?
        /// Whether nothing may be done any more.
        var isClosed = false
    }

    /// Runs `body` on the state; but for a mark's one short write, nothing that waits for a disk may be done in it.
    func withState<Result: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }

    /// The file, where it still takes bytes and is this process's own for all that is known.
    func usableFile() throws(FileFailure) -> PartialFile {
        try withState { state throws(FileFailure) in try state.usableFile }
    }

    /// Runs `body` with the file, which stays open until `body` returns, also when the partial is closed meanwhile.
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

    /// Runs `body`, for which a closing that comes meanwhile waits; refuses to when the partial is closed.
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

    func useCredentials(_ headers: HeaderFields) {
        withState { $0.secretHeaders = headers }
    }

    func confirmCredentials() {
        let (file, headers) = withState { state in
            state.hasSecretBytes = !state.secretHeaders.isEmpty
            return (state.file, state.secretHeaders)
        }
        if let file { CredentialLedger.shared.note(headers, for: file.claim.token) }
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

    /// Allocates the next blocks, and before the first of them makes sure that the volume has room for the rest.
    private func makeRoom(for file: PartialFile, _ write: Range<Int64>) throws(FileFailure) {
        let (range, missing) = withState { state -> (Range<Int64>?, Int64?) in
            guard let range = state.allocation.extend(for: write, length: state.representation?.length) else {
                return (nil, nil)
            }
            defer { state.hasSpace = true }
            return (range, state.hasSpace ? nil : state.missingByteCount)
        }
        // A part of what is missing may have its blocks already.
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

    /// Gives everything up, and keeps the files where a checkpoint makes them worth keeping; the answer is what it says.
    @discardableResult
    private func end(keeping: Bool) -> IntervalSet {
        guard let last = takeAll() else { return IntervalSet() }
        // Where nothing was received, nothing is worth keeping.
        let known = keeping ? last.checkpoint.flatMap { $0.known.isEmpty ? nil : $0.known } : nil
        let isOwner = isOwner(last)
        if known == nil, isOwner { remove(last) }
        lock.release(removing: known == nil && isOwner)
        return isOwner ? known ?? IntervalSet() : IntervalSet()
    }

    /// Whether the files are still there and this process's own to remove.
    private func isOwner(_ last: State) -> Bool {
        guard let file = last.file else { return true }
        do {
            try file.checkOwnership(names, on: store.disk)
            return true
        } catch {
            return error.kind != .inUse && error.kind != .missing
        }
    }

    /// Takes the state's files out for the last time, and closes them; nil where that has happened.
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

    /// Removes the checkpoint and the file behind these names, which still are in `last`.
    private func remove(_ last: State) {
        // The checkpoint first: without its file it would be found and reported as a loss.
        if last.checkpoint != nil { try? store.disk.remove(names.checkpoint) }
        if let file = last.file { try? store.disk.remove(names.path(file.claim, .partial)) }
    }
}

extension DiskPartial.State {
    /// The file, where it takes bytes.
    var usableFile: PartialFile {
        get throws(FileFailure) {
            if let failure { throw failure }
            guard let file else { throw notBegun }
            return file
        }
    }

    /// How many bytes of the representation were not there when the partial was opened.
    fileprivate var missingByteCount: Int64 {
        max(0, (representation?.length ?? 0) - (checkpoint?.known.count ?? 0))
    }

    /// What is wrong where there is no file.
    var notBegun: FileFailure {
        FileFailure(
            .other, errno: 0, operation: "use", name: "partial file", reason: isClosed ? "closed" : "not begun")
    }

    func close(on disk: any FileSystem) {
        if let file { disk.close(file.handle) }
        if let checkpoint { disk.close(checkpoint.handle) }
    }
}
