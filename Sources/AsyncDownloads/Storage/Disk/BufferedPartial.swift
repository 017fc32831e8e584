internal import struct Foundation.Data

/// An open new partial whose bytes are in memory as long as they are few.
///
/// Most small files arrive at once. A partial file of their own, and its removal if they do not arrive, would cost more
/// than the bytes. The complete bytes are therefore written to the lock file, which becomes the destination by a
/// rename. If the process ends before that, the lock file remains, so that the next opening looks for what to remove.
///
/// The bytes move to a partial file as soon as they have to survive the process, or are too many.
final class BufferedPartial: Partial {
    /// The usual length up to which bytes are kept in memory.
    ///
    /// A download that runs at full speed has no checkpoint before its first MiB, so that fewer bytes cost nothing
    /// if the process ends.
    static let maximumLength: Int64 = 64 << 10

    /// The claim in the names of copies on other volumes.
    ///
    /// One is enough for the process, because the names also contain the location, which has one owner.
    private static let claim = PartialNames.Claim.new()

    let finding = PartialFinding.nothing

    private struct State {
        /// The bytes, until they move to the partial file.
        var body: MemoryBody?
        /// The partial file, after the first attempt to move the bytes to it.
        var file: DiskPartial?
        /// Whether the bytes moved to ``file``.
        var hasMoved = false
        /// The last mark, which the partial file receives.
        var mark: (received: IntervalSet, epoch: Int?)?
        /// The headers that are sent but never recorded.
        var secretHeaders: HeaderFields
        /// The headers with which the bytes were received, or for which the server has proven them.
        var provenHeaders: HeaderFields
        /// The reason why the file is lost to this process.
        var failure: FileFailure?
        var isClosed = false

        /// The partial file, if it has the bytes.
        var filled: DiskPartial? { hasMoved ? file : nil }
    }

    private let store: DiskStore
    private let location: PartialLocation
    private let names: PartialNames
    private let lock: PartialLock
    private let volumeKind: VolumeKind
    // The lock is held while the bytes move to a partial file. They are few and are not synced, so a write waits no
    // longer than if it had to create the file itself.
    private let state: Mutex<State>

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
        state = Mutex(State(secretHeaders: location.secretHeaders, provenHeaders: location.secretHeaders))
    }

    deinit {
        close()
    }

    var volume: UInt64? { lock.volume }

    var allowsGaps: Bool { volumeKind != .diskWithoutGaps }

    func begin(_ representation: Representation) throws(DownloadError) {
        let file = try state.withLock { state throws(DownloadError) -> DiskPartial? in
            state.mark = nil
            if let file = state.filled { return file }
            state.body = nil
            if (representation.length ?? 0) > store.bufferedLength { return try moveToFile(&state) }
            try checkOpen(state)
            return nil
        }
        if let file { return try file.begin(representation) }
        do {
            try store.checkDestination(of: location, names)
        } catch {
            throw DownloadError(error)
        }
        state.withLock { state in
            guard !state.isClosed else { return }
            state.body = MemoryBody(representation)
            state.provenHeaders = state.secretHeaders
        }
    }

    func updateRepresentation(_ representation: Representation) {
        state.withLock { state in
            state.body?.representation = representation
            return state.filled
        }?.updateRepresentation(representation)
    }

    func useCredentials(_ headers: HeaderFields) {
        state.withLock { state in
            state.secretHeaders = headers
            return state.filled
        }?.useCredentials(headers)
    }

    func confirmCredentials() {
        state.withLock { state in
            state.provenHeaders = state.secretHeaders
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
            if !state.hasMoved { state.mark = (received, epoch) }
            return state.filled
        }?.mark(received, epoch: epoch)
    }

    func save(_ received: IntervalSet) throws(DownloadError) {
        let (file, mark) = try state.withLock { state throws(DownloadError) in
            let mark = state.mark
            return (try moveToFile(&state), mark)
        }
        try file.save(received)
        // The mark that was made before the bytes moved; it is admitted if it claims more than the checkpoint.
        if let mark { file.mark(mark.received, epoch: mark.epoch) }
    }

    func rollBack(to received: IntervalSet, epoch: Int?) throws(DownloadError) {
        // Bytes are not removed, because those of a later response may already be in their place. Nothing claims them
        // but marks and saves.
        let file = state.withLock { state in
            state.mark = nil
            return state.filled
        }
        try file?.rollBack(to: received, epoch: epoch)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DownloadError) -> Int {
        let (file, count) = state.withLock { ($0.filled, $0.body?.read(into: buffer, at: offset)) }
        return try file?.read(into: buffer, at: offset) ?? count ?? 0
    }

    func place(at targets: [PlacementTarget], length: Int64) -> [Result<String, DownloadError>] {
        let (body, file) = state.withLock { ($0.body, $0.filled) }
        if let file { return file.place(at: targets, length: length) }
        do throws(FileFailure) {
            guard let body, body.byteCount >= length, let handle = lock.handle else { throw .notStarted }
            return try place(body.prefix(length), in: handle, at: targets)
        } catch {
            return targets.map { _ in .failure(DownloadError(error)) }
        }
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

    /// Releases the lock, and removes its file unless another owner has the name.
    private func remove(_ last: State) {
        let present = try? store.disk.information(at: names.lock)
        lock.release(removing: present?.isSameFile(as: lock.information) == true)
        // After a failed move it has no files.
        last.file?.close()
    }

    private func takeAll() -> State? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            defer { state = State(secretHeaders: [:], provenHeaders: [:], isClosed: true) }
            return state
        }
    }

    private func checkOpen(_ state: State) throws(DownloadError) {
        if let failure = state.failure { throw DownloadError(failure) }
        if state.isClosed { throw DownloadError(.notStarted) }
    }
}

extension BufferedPartial {
    /// Writes the bytes to the lock file, and makes it the file of a target.
    private func place(
        _ bytes: Data, in handle: OpenFile, at targets: [PlacementTarget]
    ) throws(FileFailure) -> [Result<String, DownloadError>] {
        let file = PartialFile(
            claim: Self.claim, handle: handle, information: lock.information, volume: volumeKind)
        do {
            try file.checkSpace(for: Int64(bytes.count), names, on: store.disk)
            try fill(file, with: bytes)
            // The name is not random, so another owner may have it where locks do not work.
            try file.checkOwnership(names, at: names.lock, on: store.disk)
        } catch {
            emptyLockFile(file)
            if error.kind == .inUse { state.withLock { $0.failure = error } }
            throw error
        }
        var placement = Placement(store: store, names: names, file: file, at: names.lock)
        for target in targets { placement.put(at: target) }
        if placement.isFinished {
            let last = takeAll()
            // Before directories are synced, which needs descriptors.
            lock.release(removing: !placement.isTaken)
            last?.file?.close()
        } else {
            emptyLockFile(file)
        }
        _ = placement.synchronizeOtherDirectories()
        placement.synchronizeOwnDirectory()
        return placement.results.map { result in result.mapError { DownloadError($0) } }
    }

    /// Restores the lock file after bytes were written to it, unless it has become a destination.
    private func emptyLockFile(_ file: PartialFile) {
        guard (try? file.checkOwnership(names, at: names.lock, on: store.disk)) != nil else { return }
        try? store.disk.truncate(file.handle, to: 0)
        try? store.disk.setPermissions(.ownerOnly, of: file.handle)
    }

    private func fill(_ file: PartialFile, with bytes: Data) throws(FileFailure) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(FileFailure) in try store.disk.write(buffer, to: file.handle, at: 0) }
        }
        try result.get()
        // Some file systems do not support modes.
        try? store.disk.setPermissions(.ordinary, of: file.handle)
        // Rule 45: writes without a sync may have failed too, which would not be reported after the rename.
        if store.synchronizes(file) {
            try store.disk.synchronize(file.handle)
        } else {
            try store.disk.checkWrites(to: file.handle)
        }
    }

    /// Moves the bytes to the partial file, and returns it.
    ///
    /// After an error the bytes are still in memory, because the disk may have space later.
    private func moveToFile(_ state: inout State) throws(DownloadError) -> DiskPartial {
        if let file = state.filled { return file }
        try checkOpen(state)
        let file =
            state.file
            ?? DiskPartial(
                store: store, location: location, names: names, lock: lock, opened: .init(finding: .nothing))
        state.file = file
        if let body = state.body {
            // The bytes belong to the credentials with which they were received, whatever is sent now.
            file.useCredentials(state.provenHeaders)
            do {
                try file.begin(body.representation)
                try file.append(body, from: 0)
            } catch {
                file.removeFiles()
                throw error
            }
        }
        file.useCredentials(state.secretHeaders)
        state.body = nil
        state.mark = nil
        state.hasMoved = true
        return file
    }
}

extension FileFailure {
    /// The failure when a partial is used that was not started, or was closed.
    fileprivate static let notStarted = FileFailure(
        .other, errno: 0, operation: "use", name: "the partial file", reason: "it was not started, or is closed")
}
