/// An open new partial whose bytes are in memory as long as they are few.
///
/// Most small files arrive at once. A partial file for each, and its removal if they do not arrive, would cost more
/// than the bytes. The complete bytes are therefore written to the lock file, which becomes the destination by a
/// rename. If the process ends before that, the lock file remains, so that the next opening looks for what to remove.
///
/// The bytes move to a partial file as soon as they have to survive the process, or are too many.
final class BufferedPartial: Partial {
    /// The usual length up to which bytes are kept in memory.
    ///
    /// If the process is killed, up to this many bytes are lost. A body of unknown length that can be continued is therefore
    /// not kept in memory.
    static let maximumLength: Int64 = 64 << 10

    let finding = PartialFinding.nothing

    struct State {
        /// The bytes, until they move to the partial file.
        var body: MemoryBody?
        /// The partial file, after the first attempt to move the bytes to it.
        var file: DiskPartial?
        /// Whether the bytes moved to ``file``.
        var hasMoved = false
        /// The last mark, which the partial file receives.
        var mark: (received: IntervalSet, epoch: Int?)?
        /// The number of rollbacks that were decided, as far as it is known.
        var epoch = 0
        /// The headers that are sent but never recorded.
        var secretHeaders: HeaderFields
        /// Whether other headers were sent since the bytes were received or proven.
        var isMixed = false
        /// The reason why the file is lost to this process.
        var failure: FileFailure?
        var isClosed = false

        /// The partial file, if it has the bytes.
        var filled: DiskPartial? { hasMoved ? file : nil }
    }

    let store: DiskStore
    let location: PartialLocation
    let names: PartialNames
    let lock: PartialLock
    let volumeKind: VolumeKind
    // The lock is held while the bytes move to a partial file. They are few and are not synced, so a write waits no
    // longer than if it had to create the file itself.
    let state: Mutex<State>

    /// Creates a partial without bytes.
    ///
    /// - Parameters:
    ///   - lock: A lock whose file was created for this partial.
    ///   - volumeKind: The kind of the volume that contains the lock file.
    init(
        store: DiskStore, location: PartialLocation, names: PartialNames, lock: PartialLock, volumeKind: VolumeKind
    ) {
        self.store = store
        self.location = location
        self.names = names
        self.lock = lock
        self.volumeKind = volumeKind
        state = Mutex(State(secretHeaders: location.secretHeaders))
    }

    deinit {
        close()
    }

    var volume: UInt64? { lock.volume }

    var waitsForDisk: Bool { store.synchronizes && state.withLock { $0.hasMoved } }

    var allowsGaps: Bool { volumeKind != .diskWithoutGaps }

    func begin(_ representation: Representation) throws(DownloadError) {
        let file = try state.withLock { state throws(DownloadError) -> DiskPartial? in
            state.mark = nil
            if let file = state.filled { return file }
            state.body = nil
            let isShort = representation.length.map { $0 <= store.bufferedLength } ?? !representation.isProvable
            guard isShort else { return try moveToFile(&state) }
            try checkOpen(state)
            state.body = MemoryBody(representation)
            state.isMixed = false
            return nil
        }
        try file?.begin(representation)
    }

    func updateRepresentation(_ representation: Representation) {
        state.withLock { state in
            state.body?.representation = representation
            return state.filled
        }?.updateRepresentation(representation)
    }

    func useCredentials(_ headers: HeaderFields) {
        state.withLock { state in
            if state.secretHeaders != headers { state.isMixed = true }
            state.secretHeaders = headers
            return state.filled
        }?.useCredentials(headers)
    }

    func confirmCredentials() {
        state.withLock { state in
            state.isMixed = false
            return state.filled
        }?.confirmCredentials()
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
        let file = try state.withLock { state throws(DownloadError) -> DiskPartial? in
            if let file = state.filled { return file }
            guard state.body != nil, offset + Int64(bytes.count) <= store.bufferedLength else {
                return try moveToFile(&state)
            }
            state.body?.write(bytes, at: offset)
            return nil
        }
        try file?.write(bytes, at: offset)
    }

    func mark(_ received: IntervalSet, epoch: Int?) {
        state.withLock { state in
            if !state.hasMoved, epoch ?? state.epoch >= state.epoch { state.mark = (received, epoch) }
            return state.filled
        }?.mark(received, epoch: epoch)
    }

    func save(_ received: IntervalSet) throws(DownloadError) {
        try state.withLock { state throws(DownloadError) in try moveToFile(&state) }.save(received)
    }

    func rollBack(to received: IntervalSet, epoch: Int?) throws(DownloadError) {
        // Bytes are not removed, because those of a later response may already be in their place. Nothing claims them
        // but marks and saves.
        let file = state.withLock { state in
            state.mark = nil
            state.epoch = max(epoch ?? 0, state.epoch)
            return state.filled
        }
        try file?.rollBack(to: received, epoch: epoch)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DownloadError) -> Int {
        let (file, count) = state.withLock { ($0.filled, $0.body?.read(into: buffer, at: offset)) }
        return try file?.read(into: buffer, at: offset) ?? count ?? 0
    }

    @discardableResult
    func close() -> IntervalSet {
        guard let last = takeAll() else { return IntervalSet() }
        if let file = last.filled { return file.close() }
        // Bytes that were not saved are not kept, as in a partial file without a checkpoint.
        remove(last)
        return IntervalSet()
    }

    func discard() {
        guard let last = takeAll() else { return }
        if let file = last.filled { file.discard() } else { remove(last) }
    }

    private func remove(_ last: State) {
        lock.release(removing: true)
        // After a failed move it has no files.
        last.file?.close()
    }

    func takeAll() -> State? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            defer { state = State(secretHeaders: [:], isClosed: true) }
            return state
        }
    }

    func checkOpen(_ state: State) throws(DownloadError) {
        if let failure = state.failure { throw DownloadError(failure) }
        if state.isClosed { throw DownloadError(.notStarted) }
    }
}

extension FileFailure {
    /// The failure when a partial is used that was not started, or was closed.
    static let notStarted = FileFailure(
        .other, errno: 0, operation: "use", name: "the partial file", reason: "it was not started, or is closed")
}
