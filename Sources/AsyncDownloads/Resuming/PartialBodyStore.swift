/// Keeps the beginnings of bodies whose download into memory was left, so that the next request goes on from them.
///
/// Bodies count by their bytes. When they are more than the limit allows, those that were not used for longest move to
/// disk, where their bytes and their age are limited as well. A body that was received with secret headers
/// (``DownloadRequest/headers``) moves to disk only if the request names its ``DownloadRequest/account``. Only what a strong validator names is kept, since nothing else can be continued. One store may serve several
/// downloaders; all members may be used from any thread.
public final class PartialBodyStore: Sendable {
    /// What makes two bodies ones of the same resource.
    struct Key: Hashable, Sendable {
        private let resource: String
        private let headers: [[String]]
        private let account: String?
        /// What tells users apart where there is no account.
        private let secretHeaders: HeaderFields

        init(_ location: PartialLocation) {
            resource = location.request.resource
            headers = location.request.headers
            account = location.request.account
            secretHeaders = account == nil ? location.secretHeaders : [:]
        }
    }

    /// A body that has left memory.
    struct Release: Sendable {
        let key: Key
        let byteCount: Int
        /// Whether its bytes are on disk now, or gone.
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

    /// The store of every downloader that is not given another one: 32 MiB.
    public static let shared = PartialBodyStore(byteLimit: 32 << 20)

    /// The most bytes to keep in memory.
    public let byteLimit: Int

    /// The most bytes to keep on disk, of bodies that had to leave memory.
    public let diskByteLimit: Int64

    /// How long such a body stays on disk after it was last written.
    public let diskAge: Duration

    private let state = Mutex(State())

    /// Creates a store; with a limit of 0 every body that is left goes to disk.
    ///
    /// - Parameters:
    ///   - byteLimit: The most bytes to keep in memory.
    ///   - diskByteLimit: The most bytes to keep on disk, where the oldest bodies are removed first. Default: 256 MiB.
    ///   - diskAge: How long a body stays on disk. Default: 7 days.
    public init(byteLimit: Int, diskByteLimit: Int64 = 256 << 20, diskAge: Duration = .seconds(7 * 86_400)) {
        self.byteLimit = max(0, byteLimit)
        self.diskByteLimit = max(0, diskByteLimit)
        self.diskAge = max(.zero, diskAge)
    }

    /// How many bytes are kept now.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// Forgets everything; what is on disk stays there.
    ///
    /// - Returns: How many bytes that were.
    @discardableResult
    public func removeAll() -> Int {
        releaseAll(toDisk: false).reduce(0) { $0 + $1.byteCount }
    }

    /// Lets everything leave memory: to disk, as far as it can be written there, or for good.
    ///
    /// Blocks on the disk.
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

    /// Takes the body of the same resource out.
    func take(_ location: PartialLocation) -> MemoryBody? {
        guard let entry = state.withLock({ $0.remove(Key(location)) }) else { return nil }
        var body = entry.body
        if entry.location.request.url != location.request.url { body.representation.cameFromDifferentURL = true }
        return body
    }

    /// Keeps a body, and moves others to disk where there are too many bytes then; blocks on the disk only for that.
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
        guard entry.location.mayBeOnDisk, let partial = try? entry.disk.open(entry.location) else { return false }
        do throws(DownloadError) {
            try partial.fill(from: entry.body)
            partial.close()
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
    /// A mirror without children, since URLs, headers and bodies may hold secrets.
    public var customMirror: Mirror { .opaque(self) }
}
