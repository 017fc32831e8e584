internal import Foundation

/// An open partial whose bytes are in memory, and move to disk when necessary.
///
/// The bytes move to disk when a subscriber requests a file, because the size of an in-memory body is limited by its
/// subscribers, but the size of a file is not. When the partial is closed, bytes that are still in memory go to the
/// ``PartialBodyStore``.
final class MemoryPartial: Partial {
    let finding: PartialFinding

    private struct State {
        /// The body, until it moves to disk.
        var body: MemoryBody?
        /// The partial on disk, after the body moved.
        var disk: (any Partial)?
        /// The number of changes, not counting bytes appended to the body.
        var version = 0
        /// The headers that are sent but never recorded.
        var secretHeaders: HeaderFields
        /// The headers with which the bytes were received, or for which the server has proven them.
        var provenHeaders: HeaderFields
        /// Whether other headers were sent since the bytes were received or proven.
        ///
        /// Where only a checksum verifies the body, it may then contain bytes of several users.
        var isMixed = false
        /// The reason why the body could not move to disk; no more bytes are accepted after it.
        var failure: DownloadError?
        var isClosed = false
    }

    private let store: TieredStore
    private let location: PartialLocation
    private let state: Mutex<State>
    /// The current medium, apart from the state so that reading it does not wait for the disk.
    private let medium: Mutex<Medium>

    private struct Medium {
        var isInMemory: Bool
        var volume: UInt64?
    }

    /// Creates a partial in memory with `body`, or an empty one.
    init(_ body: MemoryBody?, store: TieredStore, location: PartialLocation) {
        self.store = store
        self.location = location
        finding = body.map { .bytes($0.representation, $0.received) } ?? .nothing
        state = Mutex(
            State(
                body: body, secretHeaders: location.secretHeaders, provenHeaders: location.secretHeaders))
        medium = Mutex(Medium(isInMemory: true))
    }

    /// Creates a partial on disk, whose result of opening is `finding`.
    init(_ disk: any Partial, finding: PartialFinding, store: TieredStore, location: PartialLocation) {
        self.store = store
        self.location = location
        self.finding = finding
        state = Mutex(
            State(
                disk: disk, secretHeaders: location.secretHeaders, provenHeaders: location.secretHeaders))
        medium = Mutex(Medium(isInMemory: false, volume: disk.volume))
    }

    deinit {
        close()
    }

    var waitsForDisk: Bool { state.withLock { $0.disk }?.waitsForDisk ?? false }

    var allowsGaps: Bool { state.withLock { $0.disk }?.allowsGaps ?? false }

    var isInMemory: Bool { medium.withLock { $0.isInMemory } }

    var volume: UInt64? { medium.withLock { $0.volume } }

    func moveToDisk() throws(DownloadError) {
        guard state.withLock({ $0.disk == nil && !$0.isClosed }) else { return }
        do throws(DownloadError) {
            let partial = try store.disk.open(location.onDisk)
            do throws(DownloadError) {
                while try !move(to: partial) {}
            } catch {
                partial.discard()
                throw error
            }
            // The partial was closed meanwhile, and its body in memory was kept.
            if state.withLock({ $0.isClosed }) { return partial.discard() }
            medium.withLock { $0 = Medium(isInMemory: false, volume: partial.volume) }
        } catch {
            // Without the disk, the bytes of a file could exceed what is intended for memory.
            state.withLock { $0.failure = error }
            throw error
        }
    }

    /// Copies the bytes to `partial` without blocking writes, then the bytes that arrived meanwhile.
    ///
    /// - Returns: Whether the copy is complete; false if the representation changed meanwhile.
    private func move(to partial: any Partial) throws(DownloadError) -> Bool {
        var (body, version, headers, isMixed) = state.withLock {
            ($0.body, $0.version, $0.provenHeaders, $0.isMixed)
        }
        if isMixed, location.request.account == nil { body?.representation.hasUnverifiedCredentials = true }
        // The bytes belong to the credentials with which they were received, whatever is sent now.
        partial.useCredentials(headers)
        if let body { try partial.fill(from: body) }
        return try state.withLock { state throws(DownloadError) in
            guard !state.isClosed else { return true }
            guard state.version == version else { return false }
            if let newer = state.body { try partial.append(newer, from: body?.received.upperBound ?? 0) }
            partial.useCredentials(state.secretHeaders)
            state.disk = partial
            state.body = nil
            state.failure = nil
            return true
        }
    }

    func begin(_ representation: Representation) throws(DownloadError) {
        try inMemory { state in
            state.body = MemoryBody(representation)
            (state.provenHeaders, state.isMixed) = (state.secretHeaders, false)
            state.version += 1
        }?.begin(representation)
    }

    func updateRepresentation(_ representation: Representation) {
        state.withLock { state in
            state.body?.representation = representation
            state.version += 1
            state.disk?.updateRepresentation(representation)
        }
    }

    func useCredentials(_ headers: HeaderFields) {
        let disk = state.withLock { state in
            if state.secretHeaders != headers { (state.isMixed, state.version) = (true, state.version + 1) }
            state.secretHeaders = headers
            return state.disk
        }
        disk?.useCredentials(headers)
    }

    func confirmCredentials() {
        state.withLock { state in
            (state.provenHeaders, state.isMixed) = (state.secretHeaders, false)
            state.version += 1
            return state.disk
        }?.confirmCredentials()
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) {
        try inMemory { state in state.body?.write(bytes, at: offset) }?.write(bytes, at: offset)
    }

    func mark(_ received: IntervalSet, epoch: Int?) {
        state.withLock { $0.disk }?.mark(received, epoch: epoch)
    }

    func save(_ received: IntervalSet) throws(DownloadError) {
        try state.withLock { $0.disk }?.save(received)
    }

    func rollBack(to received: IntervalSet, epoch: Int?) throws(DownloadError) {
        let disk = state.withLock { state in
            state.body?.rollBack(to: received)
            state.version += 1
            return state.disk
        }
        try disk?.rollBack(to: received, epoch: epoch)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DownloadError) -> Int {
        let disk: any Partial
        switch state.withLock({ state in (state.body?.read(into: buffer, at: offset), state.disk) }) {
        case (let count?, _): return count
        case (nil, let partial?): disk = partial
        case (nil, nil): return 0
        }
        return try disk.read(into: buffer, at: offset)
    }

    func contents(length: Int64) throws(DownloadError) -> Data {
        let (bytes, disk) = state.withLock { ($0.body?.prefix(length), $0.disk) }
        if let bytes { return bytes }
        return try disk?.contents(length: length) ?? Data()
    }

    func place(at targets: [PlacementTarget], length: Int64) -> [Result<String, DownloadError>] {
        do throws(DownloadError) {
            try moveToDisk()
            let disk = state.withLock { $0.disk }
            guard let disk else { throw DownloadError(.storageFailure, "the partial body was not started") }
            return disk.place(at: targets, length: length)
        } catch {
            return targets.map { _ in .failure(error) }
        }
    }

    /// Moves the bytes to disk, which includes a sync.
    func place(
        at targets: [PlacementTarget], length: Int64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping PlacementCompletion
    ) -> [PlacementOutcome]? {
        placeBlocking(at: targets, length: length, ifWanted: isWanted, completion: completion)
        return nil
    }

    @discardableResult
    func close() -> IntervalSet {
        guard let last = takeAll() else { return IntervalSet() }
        if let disk = last.disk { return disk.close() }
        guard var body = last.body, body.isResumable else { return IntervalSet() }
        var location = location
        location.secretHeaders = last.provenHeaders
        if location.request.account == nil, last.isMixed { body.representation.hasUnverifiedCredentials = true }
        store.bodies.keep(body, of: location, on: store.disk)
        return body.received
    }

    func discard() {
        takeAll()?.disk?.discard()
    }

    private func takeAll() -> State? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            let last = state
            state = State(secretHeaders: [:], provenHeaders: [:], isClosed: true)
            return last
        }
    }

    /// Runs `body` on the bytes in memory, or returns the partial on disk.
    ///
    /// The partial on disk is used without the lock, because its calls may take long.
    private func inMemory(_ body: (inout State) -> Void) throws(DownloadError) -> (any Partial)? {
        try state.withLock { state throws(DownloadError) in
            if state.isClosed { throw DownloadError(.storageFailure, "the partial body is closed") }
            if let disk = state.disk { return disk }
            if let failure = state.failure { throw failure }
            body(&state)
            return nil
        }
    }
}
