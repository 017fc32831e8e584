internal import Dispatch

/// The bytes of an unfinished download, and the checkpoint that describes them.
///
/// One process owns a partial file until ``close()``, ``discard()``, or ``place(at:length:)``. Each of these waits for
/// a call in progress. Afterwards every call fails or does nothing. Calls must not be concurrent, with two exceptions:
/// ``write(_:at:)`` and ``mark(_:epoch:)`` may run during each other and during any other call. The bytes of writes
/// that run at the same time don't overlap.
///
/// ## Where the bytes are
///
/// The bytes are in memory at first, and move to a file when they have to (``Medium``). They move once, and never back.
/// A body that no subscriber wants as a file stays in memory, and goes to the ``PartialBodyStore`` when the partial
/// file is closed.
///
/// ## Ownership
///
/// The lock file keeps other processes out. If the lock is exclusive (``PartialLock/isExclusive``), the file's name
/// follows from the token in the checkpoint. Where locks do not work, as on some network file systems, bytes of two
/// owners are still never combined:
///
/// - Each new file has a random name, so two processes that start a download write two files.
/// - A process that continues a file first renames it to a new name. A rename succeeds for one process only, and takes
///   the file from an owner that is still running: the next ``save(_:)``, ``mark(_:epoch:)``, or ``place(at:length:)``
///   of that owner detects that its name is gone and fails with ``DownloadError/Code/partialInUse``. The checkpoint
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
/// file therefore accepts no more bytes, its marks are rolled back, and the next opening finds what the last checkpoint
/// claims.
package final class PartialFile: Sendable {
    /// The result of opening the partial file; it does not change.
    package let finding: PartialFinding

    let store: PartialStore
    private let state: Mutex<State>
    /// Where the bytes are, apart from the state so that reading it does not wait for the disk.
    private let currentSite: Mutex<Site>
    /// The calls that are using the file.
    ///
    /// Closing waits for them, because the system reuses a descriptor's number.
    let calls = DispatchGroup()

    /// The medium of the bytes.
    enum Medium: Sendable {
        /// Memory, without any file on disk.
        case memory
        /// Memory as long as the bytes are few; the location is locked.
        ///
        /// Most small files arrive at once. A partial file for each, and its removal if they do not arrive, would cost
        /// more than the bytes. The complete bytes are therefore written to the lock file, which becomes the
        /// destination by a rename. If the process ends before that, the lock file remains, so that the next opening
        /// looks for what to remove.
        case lockedMemory
        /// A file.
        case file
    }

    /// The place of the bytes.
    struct Site: Sendable {
        let location: PartialLocation
        let names: PartialNames
        /// The lock of the location; nil in ``Medium/memory``.
        let lock: PartialLock?
        /// The kind of the volume that contains the lock file or the file, once one of them is open.
        var volume: VolumeKind?
        var medium: Medium
    }

    /// Creates a partial file in memory, without any file on disk.
    ///
    /// - Parameter body: The bytes to continue from, if there are any.
    init(_ body: MemoryBody?, store: PartialStore, location: PartialLocation) {
        self.store = store
        finding = body.map { .bytes($0.representation, $0.received) } ?? .nothing
        var state = State()
        (state.body, state.marked) = (body, body?.received)
        (state.secretHeaders, state.provenHeaders) = (location.secretHeaders, location.secretHeaders)
        self.state = Mutex(state)
        currentSite = Mutex(
            Site(location: location, names: store.names(of: location), lock: nil, volume: nil, medium: .memory))
    }

    /// Creates a partial file at a locked location.
    init(_ opening: PartialStore.Opening, store: PartialStore, at location: PartialLocation, medium: Medium) {
        self.store = store
        let opened = opening.opened
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
        (state.secretHeaders, state.provenHeaders) = (location.secretHeaders, location.secretHeaders)
        state.file = opened.file
        self.state = Mutex(state)
        currentSite = Mutex(
            Site(
                location: location, names: opening.names, lock: opening.lock,
                volume: opened.file?.volume ?? opening.volume, medium: medium))
    }

    deinit {
        close()
    }

    var site: Site { currentSite.withLock { $0 } }
    var location: PartialLocation { site.location }
    var names: PartialNames { site.names }
    var lock: PartialLock? { site.lock }
    var medium: Medium { site.medium }

    /// Whether there is no file on disk, not even that of a lock.
    package var isInMemory: Bool { medium == .memory }

    /// The device number of the volume that holds the bytes, or nil if ``isInMemory``.
    package var volume: UInt64? { lock?.volume }

    /// Whether operations may wait until the disk has written many bytes; saving always may.
    package var waitsForDisk: Bool {
        let site = site
        return site.medium == .file && (store.synchronizes || site.volume == .other)
    }

    /// Whether bytes may be written far behind the others.
    ///
    /// If not, the bytes in between would be filled with zeros, which takes memory, or as long as writing them.
    package var allowsGaps: Bool {
        let site = site
        return site.medium != .memory && site.volume != .diskWithoutGaps
    }

    /// Changes where the bytes are; called while the state is locked.
    func moved(_ change: (inout Site) -> Void) { currentSite.withLock { change(&$0) } }

    /// Runs `body` on the state.
    ///
    /// Apart from the short write of a mark, and of the bytes in memory when they move, `body` must not wait for the
    /// disk.
    func withState<Result: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }

    /// Returns the file if it accepts bytes and, as far as is known, this process still owns it.
    func usableFile() throws(FileFailure) -> ClaimedFile {
        try withState { state throws(FileFailure) in try state.usableFile }
    }

    /// Runs `body` with the file, which stays open until `body` returns, even if the partial is closed meanwhile.
    func withFile<Value>(
        _ body: (ClaimedFile) throws(FileFailure) -> Value
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

    /// Replaces the representation by what the server now reports for the same object, and keeps the bytes.
    package func updateRepresentation(_ representation: Representation) {
        withState { state in
            if state.isClosed { return }
            state.body?.representation = representation
            state.representation = representation
        }
    }

    /// Writes all of `bytes` at `offset`.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
        do {
            if try writeToMemory(bytes, at: offset) { return }
            try moveToFile()
            try withFile { file throws(FileFailure) in
                try makeRoom(for: file, offset..<offset + Int64(bytes.count))
                try store.disk.write(bytes, to: file.handle, at: offset)
            }
        } catch {
            throw DownloadError(error)
        }
    }

    /// Allocates the next blocks; before the first allocation, throws if the volume lacks space for the missing bytes.
    private func makeRoom(for file: ClaimedFile, _ write: Range<Int64>) throws(FileFailure) {
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
}
