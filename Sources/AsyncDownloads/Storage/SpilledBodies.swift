internal import Foundation

/// The in-memory bodies that had to be moved to disk, whose total size and age are limited.
///
/// Each directory is listed once, when its first body is closed. A body that a transfer uses doesn't count.
final class SpilledBodies: Sendable {
    private struct Body: Sendable {
        let location: PartialLocation
        let byteCount: Int64
        /// The time of the last write, in seconds since 1970.
        let date: Int64
    }

    /// The bodies in one directory.
    private struct Directory: Sendable {
        var bodies: [PartialNames: Body] = [:]
        /// The names of the bodies in the order in which they were written.
        var order = Heap<PartialNames, UInt64>()
        var lastNumber: UInt64 = 0
        var byteCount: Int64 = 0
        /// The bodies that are about to be removed, unless a transfer opens them first.
        var excess: Set<PartialNames> = []
        /// The date of the last use by an earlier process, in seconds since 1970, and the time of the listing.
        let lastUse: (date: Int64, time: Duration)

        mutating func insert(_ body: Body, _ names: PartialNames) {
            remove(names)
            lastNumber += 1
            bodies[names] = body
            order[names] = lastNumber
            byteCount = byteCount.addingClamped(body.byteCount)
        }

        mutating func remove(_ names: PartialNames) {
            guard let body = bodies.removeValue(forKey: names) else { return }
            order[names] = nil
            byteCount -= body.byteCount
        }
    }

    private let byteLimit: Int64
    private let age: Duration
    private let time: any TimeSource
    private let directories = Mutex<[ByteText: Directory]>([:])
    private let turns = KeyedLock<ByteText>()

    /// Creates a record without bodies.
    ///
    /// - Parameters:
    ///   - byteLimit: The maximum number of bytes of all bodies in one directory.
    ///   - age: The time for which a body is kept.
    ///   - time: The source of the time.
    init(byteLimit: Int64, age: Duration, time: any TimeSource) {
        self.byteLimit = byteLimit
        self.age = age
        self.time = time
    }

    /// Records that a transfer, which holds the location's lock, uses the body at `location`.
    func opened(_ location: PartialLocation, in store: PartialStore) {
        let names = store.names(of: location)
        directories.withLock { directories in
            directories[ByteText(names.directory)]?.remove(names)
            directories[ByteText(names.directory)]?.excess.remove(names)
        }
    }

    /// Records that the body at `location` was closed, and removes the oldest bodies that exceed the limits.
    func closed(_ location: PartialLocation, byteCount: Int64, in store: PartialStore) {
        let names = store.names(of: location)
        let directory = ByteText(names.directory)
        turns.withLock(directory) {
            if directories.withLock({ $0[directory] == nil }) {
                let found = list(names.directory, in: store)
                directories.withLock { $0[directory] = found }
            }
            let excess = directories.withLock { directories -> [(names: PartialNames, body: Body)] in
                guard var state = directories[directory] else { return [] }
                // The state is moved out, because changing a copy would copy all its storage.
                directories[directory] = nil
                defer { directories[directory] = state }
                let date = date(after: state.lastUse)
                state.insert(Body(location: location.withoutSecrets, byteCount: byteCount, date: date), names)
                return removeExcess(from: &state, at: date)
            }
            for (names, body) in excess { remove(body, names, in: directory, store) }
        }
    }

    /// Removes a body, unless another owner uses it, or a transfer has used it in the meantime.
    private func remove(_ body: Body, _ names: PartialNames, in directory: ByteText, _ store: PartialStore) {
        // The store has no `bodies` here: with them, closing the partial file would record the body and wait for the
        // turn of the caller.
        let partial = Result { () throws(DownloadError) in try store.withoutBodies.openFile(body.location) }
        let isExcess = directories.withLock { directories in
            let isExcess = directories[directory]?.excess.remove(names) != nil
            if isExcess, let error = partial.failure, error.code != .partialInUse {
                // The next closed body causes another attempt.
                directories[directory]?.insert(body, names)
            }
            return isExcess
        }
        guard let partial = try? partial.get() else { return }
        if isExcess { partial.discard() } else { partial.close() }
    }

    private func removeExcess(
        from state: inout Directory, at date: Int64
    ) -> [(names: PartialNames, body: Body)] {
        var excess: [(names: PartialNames, body: Body)] = []
        while let oldest = state.order.first?.key, let body = state.bodies[oldest],
            state.byteCount > byteLimit || body.date < date - age.components.seconds
        {
            state.remove(oldest)
            state.excess.insert(oldest)
            excess.append((oldest, body))
        }
        return excess
    }

    /// Returns the latest date that is certain to have passed.
    ///
    /// The system's clock may be wrong for some time, for example before it is synchronized after a start of the
    /// machine. A clock in the future must not make all bodies old, so the date is at most the date of the last use by
    /// an earlier process, plus the time since the directory was listed.
    private func date(after lastUse: (date: Int64, time: Duration)) -> Int64 {
        min(time.date.secondsSinceEpoch, lastUse.date.addingClamped((time.now - lastUse.time).components.seconds))
    }

    /// Lists the bodies in a directory, oldest first.
    private func list(_ path: String, in store: PartialStore) -> Directory {
        let now = time.date.secondsSinceEpoch
        let unfinished = (try? store.unfinished(in: path, trustsDestinations: false)) ?? []
        let bodies = unfinished.compactMap { body -> Body? in
            guard body.location.isSpilled, let name = body.fileName,
                let information = try? store.disk.information(at: PartialNames.join(path, name))
            else { return nil }
            return Body(
                location: body.location, byteCount: information.size, date: min(now, information.modificationSeconds))
        }.sorted { $0.date < $1.date }
        var directory = Directory(lastUse: (bodies.last?.date ?? now, time.now))
        for body in bodies { directory.insert(body, store.names(of: body.location)) }
        return directory
    }
}

extension PartialStore {
    fileprivate var withoutBodies: Self {
        var store = self
        store.bodies = nil
        return store
    }
}

extension PartialLocation {
    fileprivate var withoutSecrets: Self {
        var location = self
        location.secretHeaders = [:]
        return location
    }
}

extension SpilledBodies {
    /// Returns the directory of the bodies in a directory that several apps of one user may share.
    ///
    /// Outside a sandbox, an app must not count or remove the bodies of another app. A program without a bundle has no
    /// identifier.
    static func directory(in caches: URL, bundleIdentifier: String?) -> URL {
        caches.appending(path: bundleIdentifier.map { "\($0).async-downloads" } ?? "async-downloads")
    }
}
