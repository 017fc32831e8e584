internal import Dispatch

/// The bytes of an unfinished download, and the checkpoint that describes them.
///
/// One process owns a partial file until ``close()``, ``discard()``, or ``place(at:length:ifWanted:)``. Each of these methods
/// waits for calls in progress. Afterward, every call fails or does nothing. Calls must not be concurrent, with two
/// exceptions: ``write(_:at:)`` and ``mark(_:epoch:)`` may run concurrently with each other and with any other call.
/// Concurrent writes must not overlap.
///
/// ## Medium
///
/// The bytes are in memory at first, and move to a file when necessary (``Medium``). They move once, and never back. A
/// body that no subscriber requests as a file stays in memory, and is passed to the ``PartialBodyStore`` when the
/// partial file is closed.
///
/// ## Ownership
///
/// The lock file keeps other processes out. If the lock is exclusive (``PartialLock/isExclusive``), the file's name
/// follows from the token in the checkpoint. Where locks do not work, as on some network file systems, bytes of two
/// owners are still never combined:
///
/// - Each new file has a random name, so two processes that start a download write two files.
/// - A process that continues a file first renames it to a new name. A rename succeeds for one process only, and takes
///   the file from an owner that is still running: the next ``save(_:)``, ``mark(_:epoch:)``, or ``place(at:length:ifWanted:)``
///   of that owner detects that the former name no longer exists, and the owner stops using the file
///   (``DownloadError/Code/partialInUse``). The checkpoint identifies the file by the constant part of its name and by
///   its inode number, so the rename doesn't require a change of the checkpoint, which a crash could prevent.
/// - Until then, both processes write the same bytes at the same offsets, because one file contains one representation.
///   This requires that bytes that a checkpoint may ever have claimed are never truncated: a file that is longer than
///   its checkpoint claims keeps its length until it is finished. The bytes beyond the claim do not count as progress
///   (rule 41).
/// - The file becomes the destination by a rename from the owner's name, which cannot succeed for any other process.
///
/// ## Order of writes
///
/// The checkpoint is replaced after the bytes that it describes were synced, never before (rule 38). If a sync fails, a
/// later successful sync proves nothing, because the system may have dropped the bytes. Therefore, after a failed sync,
/// the partial file accepts no more bytes, its marks are rolled back, and the next opening finds only the bytes that
/// the last checkpoint claims.
final class PartialFile: Sendable {
    /// The result of opening the partial file; it does not change.
    let finding: PartialFinding

    let store: PartialStore
    private let state: Mutex<State>
    /// The place of the bytes; it is separate from the state, so that reading it does not wait for the disk.
    private let currentSite: Mutex<Site>
    /// The calls that are using the file.
    ///
    /// Closing waits for them, because the system reuses a descriptor's number.
    let calls = DispatchGroup()

    /// The medium of the bytes.
    enum Medium: Sendable {
        /// Memory, without any file on disk.
        case memory
        /// Memory while the number of bytes is small; the location is locked.
        ///
        /// Most small files arrive at once, and creating and removing a partial file for each would take longer than
        /// writing the bytes. Therefore, the complete bytes are written to the lock file, which becomes the destination
        /// by a rename. If the process ends before the rename, the lock file remains, so that the next opening looks
        /// for files to remove.
        case lockedMemory
        /// A file on disk.
        case file
    }

    /// The location and the medium of the bytes.
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
    /// - Parameters:
    ///   - body: The bytes to continue from; nil for none.
    ///   - store: The store.
    ///   - location: The location.
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

    /// Whether the partial file has no files on disk, not even a lock file.
    var isInMemory: Bool { medium == .memory }

    /// The device number of the volume that holds the bytes, or nil if ``isInMemory``.
    var volume: UInt64? { lock?.volume }

    /// Whether any operation, not only saving, may wait until the disk has written many bytes.
    var waitsForDisk: Bool {
        let site = site
        return site.medium == .file && (store.synchronizes || site.volume == .other)
    }

    /// Whether bytes may be written far beyond the others.
    ///
    /// If this is false, a gap would be filled with zeros, which takes memory, or as much time as writing the bytes.
    var allowsGaps: Bool {
        let site = site
        return site.medium != .memory && site.volume != .diskWithoutGaps
    }

    /// Changes the place of the bytes; called while the state is locked.
    func moved(_ change: (inout Site) -> Void) { currentSite.withLock { change(&$0) } }

    /// Runs `body` on the state.
    ///
    /// `body` must not wait for the disk, except to write a mark, or to write the bytes in memory when they move.
    func withState<Result: Sendable, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }

    /// Returns the file if it accepts bytes; throws if this process is known to have lost the ownership.
    func usableFile() throws(FileFailure) -> ClaimedFile {
        try withState { state throws(FileFailure) in try state.usableFile }
    }

    /// Runs `body` with the file, which stays open until `body` returns, even if the partial file is closed meanwhile.
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

    /// Runs `body`, and makes a concurrent close wait for it; throws if the partial file is already closed.
    func whileOpen<Value>(_ body: () throws(FileFailure) -> Value) throws(FileFailure) -> Value {
        try withState { state throws(FileFailure) in
            if state.isClosed { throw state.notBegun }
            calls.enter()
        }
        defer { calls.leave() }
        return try body()
    }

    /// Replaces the representation with newer metadata of the same object, and keeps the bytes.
    func updateRepresentation(_ representation: Representation) {
        withState { state in
            if state.isClosed { return }
            state.body?.representation = representation
            state.representation = representation
        }
    }

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
        do {
            if try writeToMemory(bytes, at: offset) { return }
            try moveToFile()
            try withFile { file throws(FileFailure) in
                try allocateBlocks(for: file, offset..<offset + Int64(bytes.count))
                try store.disk.write(bytes, to: file.handle, at: offset)
            }
        } catch {
            throw DownloadError(error)
        }
    }

    /// Allocates the next blocks; before the first allocation, throws if the volume lacks space for the missing bytes.
    private func allocateBlocks(for file: ClaimedFile, _ write: Range<Int64>) throws(FileFailure) {
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
