/// A store for the received bytes of unfinished downloads into memory.
///
/// The next request for the same resource continues from these bytes. If the bodies exceed ``byteLimit``, those that
/// were stored first are moved to disk, where their size and age are limited as well. A body that was received with
/// secret headers (``DownloadRequest/headers``) is moved to disk only if the request names its
/// ``DownloadRequest/account``. Only bodies with a strong validator are kept, because no others can be continued. One
/// store may serve several downloaders; all members may be used from any thread.
public final class PartialBodyStore: Sendable {
    /// The properties that bodies of the same resource have in common.
    struct Key: Hashable, Sendable {
        private let identity: ResourceIdentity
        /// The secret headers, which distinguish users if there is no account.
        private let secretHeaders: HeaderFields

        init(_ location: PartialLocation) {
            identity = ResourceIdentity(location.request)
            secretHeaders = identity.account == nil ? location.secretHeaders : [:]
        }
    }

    /// A body that was released from memory.
    struct Release: Sendable {
        let key: Key
        let byteCount: Int
        /// Whether the bytes were moved to disk; otherwise, they were discarded.
        let isOnDisk: Bool
    }

    private struct Entry: Sendable {
        let body: MemoryBody
        let location: PartialLocation
        let disk: any PartialStore
        let age: UInt64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var byteCount = 0
        var lastAge: UInt64 = 0

        mutating func remove(_ key: Key) -> Entry? {
            guard let entry = entries.removeValue(forKey: key) else { return nil }
            byteCount -= entry.body.byteCount
            return entry
        }
    }

    /// The default store of all downloaders, which keeps up to 32 MiB in memory.
    public static let shared = PartialBodyStore(byteLimit: 32 << 20)

    /// The maximum number of bytes to keep in memory.
    public let byteLimit: Int

    /// The maximum number of bytes to keep on disk, of bodies that were moved there from memory.
    public let diskByteLimit: Int64

    /// The time for which a body stays on disk after it was last written.
    public let diskAge: Duration

    private let state = Mutex(State())

    /// Creates a store with the given limits.
    ///
    /// - Parameters:
    ///   - byteLimit: The maximum number of bytes to keep in memory. If it is 0, every body is moved to disk.
    ///   - diskByteLimit: The maximum number of bytes to keep on disk; the oldest bodies are removed first. Default:
    ///     256 MiB.
    ///   - diskAge: The time for which a body stays on disk. Default: 7 days.
    public init(byteLimit: Int, diskByteLimit: Int64 = 256 << 20, diskAge: Duration = .seconds(7 * 86_400)) {
        self.byteLimit = max(0, byteLimit)
        self.diskByteLimit = max(0, diskByteLimit)
        self.diskAge = max(.zero, diskAge)
    }

    /// The number of bytes that are kept in memory.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// Removes all bodies from memory; bodies on disk stay there.
    ///
    /// - Returns: The number of bytes that were removed.
    @discardableResult
    public func removeAll() -> Int {
        releaseAll(toDisk: false).reduce(0) { $0 + $1.byteCount }
    }

    /// Releases all bodies from memory, and moves them to disk if `toDisk` is true and they can be written there.
    ///
    /// This method blocks on disk I/O.
    func releaseAll(toDisk: Bool) -> [Release] {
        let entries = state.withLock { state in
            let entries = state.entries
            state.entries = [:]
            state.byteCount = 0
            return entries
        }
        return entries.map { key, entry in
            Release(key: key, byteCount: entry.body.byteCount, isOnDisk: toDisk && spill(entry))
        }
    }

    /// Returns whether a body of the same resource is in memory.
    func holds(_ location: PartialLocation) -> Bool {
        let key = Key(location)
        return state.withLock { $0.entries[key] != nil }
    }

    /// Removes and returns the body of the same resource, if any.
    func take(_ location: PartialLocation) -> MemoryBody? {
        guard let entry = state.withLock({ $0.remove(Key(location)) }) else { return nil }
        var body = entry.body
        if entry.location.request.url != location.request.url { body.representation.cameFromDifferentURL = true }
        return body
    }

    /// Stores a body, and moves older ones to disk if the limit is exceeded, which blocks on disk I/O.
    func keep(_ body: MemoryBody, of location: PartialLocation, on disk: any PartialStore) {
        let excess = state.withLock { state in
            let key = Key(location)
            _ = state.remove(key)
            state.lastAge += 1
            state.entries[key] = Entry(body: body, location: location.onDisk, disk: disk, age: state.lastAge)
            state.byteCount += body.byteCount
            var excess: [Entry] = []
            while state.byteCount > byteLimit,
                let oldest = state.entries.min(by: { $0.value.age < $1.value.age })?.key,
                let entry = state.remove(oldest)
            {
                excess.append(entry)
            }
            return excess
        }
        for entry in excess { spill(entry) }
    }

    @discardableResult
    private func spill(_ entry: Entry) -> Bool {
        // The body may contain bytes of another user than that of the location.
        let isUnverified = entry.body.representation.hasUnverifiedCredentials && entry.location.request.account == nil
        guard entry.location.mayBeOnDisk, !isUnverified, let partial = try? entry.disk.open(entry.location) else {
            return false
        }
        do throws(DownloadError) {
            try partial.fill(from: entry.body)
            partial.close()
            // The modification times of the files come from the system's clock.
            let oldest = SystemTimeSource().date.secondsSinceEpoch - diskAge.components.seconds
            entry.disk.removeBodies(
                in: entry.location.directory, writtenBefore: HTTPDate(secondsSinceEpoch: oldest),
                exceeding: diskByteLimit)
            return true
        } catch {
            partial.discard()
            return false
        }
    }
}

extension PartialBodyStore: CustomReflectable {
    /// A mirror without children, because URLs, headers, and bodies may contain secrets.
    public var customMirror: Mirror { .opaque(self) }
}
