/// A store for the received bytes of unfinished downloads into memory.
///
/// The next request for the same resource continues from these bytes. If the bodies exceed ``byteLimit``, those that
/// were stored first are moved to disk, where their size and age are limited as well. A body that was received with
/// secret headers (``DownloadRequest/headers``) is moved to disk only if the request names its
/// ``DownloadRequest/account``. Only bodies with a strong validator are kept, because no others can be continued. One
/// store may serve several downloaders; all members may be used from any thread.
public final class PartialBodyStore: Sendable {
    /// A body that was released from memory.
    struct Release: Sendable {
        let key: SharingKey
        let byteCount: Int
        /// Whether the bytes were moved to disk; otherwise, they were discarded.
        let isOnDisk: Bool
    }

    private struct Entry: Sendable {
        let body: MemoryBody
        let location: PartialLocation
        /// The number of the entry in the order in which bodies were stored.
        let number: UInt64
        /// Whether a thread moves the body to disk.
        ///
        /// Another thread can take the body until it is on disk.
        var isMoving = false
    }

    private struct State {
        var entries: [SharingKey: Entry] = [:]
        /// The keys of the entries that no thread is moving, in the order in which the bodies were stored.
        var order = Heap<SharingKey, UInt64>()
        var byteCount = 0
        /// The part of ``byteCount`` that no thread is moving.
        var restingByteCount = 0
        var lastNumber: UInt64 = 0

        mutating func insert(_ body: MemoryBody, at location: PartialLocation) -> SharingKey {
            let key = location.sharingKey
            remove(key)
            lastNumber += 1
            entries[key] = Entry(body: body, location: location.onDisk, number: lastNumber)
            order[key] = lastNumber
            byteCount += body.byteCount
            restingByteCount += body.byteCount
            return key
        }

        /// Returns the keys and the numbers of the oldest bodies beyond `limit`, which the caller moves.
        mutating func startMoving(beyond limit: Int) -> [(key: SharingKey, number: UInt64)] {
            var moving: [(SharingKey, UInt64)] = []
            while restingByteCount > limit, let (key, number) = order.first {
                order[key] = nil
                entries[key]?.isMoving = true
                restingByteCount -= entries[key]?.body.byteCount ?? 0
                moving.append((key, number))
            }
            return moving
        }

        @discardableResult
        mutating func remove(_ key: SharingKey) -> Entry? {
            guard let entry = entries.removeValue(forKey: key) else { return nil }
            order[key] = nil
            byteCount -= entry.body.byteCount
            if !entry.isMoving { restingByteCount -= entry.body.byteCount }
            return entry
        }
    }

    /// The default store of all downloaders, which keeps up to 32 MiB in memory.
    public static let shared = PartialBodyStore(byteLimit: 32 << 20)

    /// The maximum number of bytes to keep in memory.
    public let byteLimit: Int

    /// The maximum number of bytes to keep on disk for bodies that were moved there from memory.
    public let diskByteLimit: Int64

    /// The time for which a body stays on disk after it was last written.
    public let diskAge: Duration

    private let state = Mutex(State())
    /// The bodies that are being moved to disk, each by one thread at a time.
    private let moves = KeyedLock<SharingKey>()
    /// The bodies on disk.
    let spilled: SpilledBodies

    /// Creates a store with the given limits.
    ///
    /// - Parameters:
    ///   - byteLimit: The maximum number of bytes to keep in memory. If it is 0, every body is moved to disk.
    ///   - diskByteLimit: The maximum number of bytes to keep on disk; the oldest bodies are removed first. Default:
    ///     256 MiB.
    ///   - diskAge: The time for which a body stays on disk. Default: 7 days.
    public convenience init(
        byteLimit: Int, diskByteLimit: Int64 = 256 << 20, diskAge: Duration = .seconds(7 * 86_400)
    ) {
        self.init(byteLimit: byteLimit, diskByteLimit: diskByteLimit, diskAge: diskAge, time: SystemTimeSource())
    }

    /// Creates a store with a clock, for tests.
    init(byteLimit: Int, diskByteLimit: Int64, diskAge: Duration, time: any TimeSource) {
        self.byteLimit = max(0, byteLimit)
        self.diskByteLimit = max(0, diskByteLimit)
        self.diskAge = max(.zero, diskAge)
        spilled = SpilledBodies(byteLimit: self.diskByteLimit, age: self.diskAge, time: time)
    }

    /// The number of bytes that are kept in memory.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// Removes all bodies from memory; bodies on disk stay there.
    ///
    /// - Returns: The number of bytes that were removed.
    @discardableResult
    public func removeAll() -> Int {
        releaseAll(to: nil).reduce(0) { $0 + $1.byteCount }
    }

    /// Releases all bodies from memory, and moves them to disk if `store` isn't nil and they can be written there.
    ///
    /// This method blocks on disk I/O. Another thread can take a body until it is on disk; the result doesn't include
    /// such a body.
    func releaseAll(to store: PartialStore?) -> [Release] {
        let entries = state.withLock { state in
            let entries = state.entries
            if store == nil { state = State(lastNumber: state.lastNumber) }
            return entries
        }
        return entries.sorted { $0.value.number < $1.value.number }.compactMap { key, entry in
            let isOnDisk = store.map { move(key, entry.number, to: $0) } ?? false
            guard let isOnDisk else { return nil }
            return Release(key: key, byteCount: entry.body.byteCount, isOnDisk: isOnDisk)
        }
    }

    /// Returns whether a body of the same resource is in memory.
    func holds(_ location: PartialLocation) -> Bool {
        let key = location.sharingKey
        return state.withLock { $0.entries[key] != nil }
    }

    /// Removes and returns the body of the same resource if it has more than `count` bytes.
    func take(_ location: PartialLocation, ifMoreThan count: Int64 = -1) -> MemoryBody? {
        let key = location.sharingKey
        let taken = state.withLock { state in
            (state.entries[key]?.body.received.count ?? -1) > count ? state.remove(key) : nil
        }
        guard let entry = taken else { return nil }
        var body = entry.body
        if entry.location.request.url != location.request.url { body.representation.cameFromDifferentURL = true }
        return body
    }

    /// Stores a body, and moves older ones to disk if the limit is exceeded, which blocks on disk I/O.
    ///
    /// - Returns: Whether the body is in memory or on disk.
    @discardableResult
    func keep(_ body: MemoryBody, of location: PartialLocation, on store: PartialStore) -> Bool {
        let (key, excess) = state.withLock { state in
            (state.insert(body, at: location), state.startMoving(beyond: byteLimit))
        }
        var isKept = true
        for (other, number) in excess where move(other, number, to: store) == false && other == key { isKept = false }
        return isKept
    }

    /// Moves a body to disk, or discards it if it can't be written there.
    ///
    /// - Returns: Whether it is on disk; nil if it was taken before it was there.
    private func move(_ key: SharingKey, _ number: UInt64, to store: PartialStore) -> Bool? {
        // The body may have been taken and stored again while an earlier one of the same resource is written.
        moves.withLock(key) {
            guard let entry = state.withLock({ $0.entries[key] }), entry.number == number else { return nil }
            let isOnDisk = spill(entry, to: store)
            let isTaken = state.withLock { state in
                guard state.entries[key]?.number == number else { return true }
                state.remove(key)
                return false
            }
            guard isTaken else { return isOnDisk }
            if isOnDisk { try? store.openFile(entry.location).discard() }
            return nil
        }
    }

    /// Writes a body to disk, and returns whether it, or more of the resource, is there.
    private func spill(_ entry: Entry, to store: PartialStore) -> Bool {
        // The body may contain bytes of a user other than the user of the location.
        let isUnverified = entry.body.representation.hasUnverifiedCredentials && entry.location.request.account == nil
        guard entry.location.mayBeOnDisk, !isUnverified else { return false }
        let partial = PartialFile(entry.body, store: store, location: entry.location)
        guard let hasMoved = try? partial.move(to: entry.location) else {
            partial.discard()
            return false
        }
        if hasMoved { partial.close() } else { partial.discard() }
        return true
    }
}

extension PartialBodyStore: CustomReflectable {
    /// A mirror without children, because URLs, headers, and bodies may contain secrets.
    public var customMirror: Mirror { .opaque(self) }
}
