internal import Dispatch

/// The destinations that are in use, so that no two transfers of one downloader place different resources at one path.
///
/// A path that a request names is reserved until its last subscriber is detached. If the transfer may be placing the
/// file at that moment, the path is closing: the transfer of the next resource may start, and waits before it places
/// its own file.
final class DestinationReservations: Sendable {
    /// The subscribers that have reserved one path.
    private struct Reservation {
        let owner: HashDigest
        /// The number of subscribers, and of those that were detached while their file was being placed.
        var count = 1
        var closingCount = 0
        /// The resource for which the path was reserved after this one, and its number of subscribers.
        var next: (owner: HashDigest, count: Int)?
        var waiters: [DispatchSemaphore] = []

        var isClosing: Bool { closingCount == count }
    }

    /// A reservation in the table, which is small for a path that one subscriber has reserved.
    private enum Entry {
        case single(HashDigest)
        indirect case several(Reservation)

        var reservation: Reservation {
            switch self {
            case .single(let owner): Reservation(owner: owner)
            case .several(let reservation): reservation
            }
        }

        init(_ reservation: Reservation) {
            let isSingle =
                reservation.count == 1 && reservation.closingCount == 0 && reservation.next == nil
                && reservation.waiters.isEmpty
            self = isSingle ? .single(reservation.owner) : .several(reservation)
        }
    }

    private struct State {
        /// The reservations by the digests of their paths.
        private var entries: [HashDigest: Entry] = [:]

        subscript(path: String) -> Reservation? {
            get { entries[HashDigest(path)]?.reservation }
            set { entries[HashDigest(path)] = newValue.map { Entry($0) } }
        }
    }

    private let state = Mutex(State())

    /// Reserves `path` for one more subscriber of a transfer.
    ///
    /// - Returns: Nil if the path was reserved, or the key of the other transfer that has reserved it.
    func reserve(_ path: String, for key: HashDigest) -> HashDigest? {
        state.withLock { state in
            guard var present = state[path] else {
                state[path] = Reservation(owner: key)
                return nil
            }
            if present.next == nil, present.owner == key {
                present.count += 1
            } else if let next = present.next {
                guard next.owner == key else { return next.owner }
                present.next?.count += 1
            } else {
                guard present.isClosing else { return present.owner }
                present.next = (key, 1)
            }
            state[path] = present
            return nil
        }
    }

    /// Records that a subscriber of `key` was detached while its file may be placed.
    ///
    /// A call of ``release(_:for:wasClosing:)`` must follow.
    func close(_ path: String, for key: HashDigest) {
        state.withLock { state in
            if state[path]?.owner == key { state[path]?.closingCount += 1 }
        }
    }

    /// Releases one reservation.
    ///
    /// - Parameter wasClosing: Whether ``close(_:for:)`` was called for this reservation.
    func release(_ path: String, for key: HashDigest, wasClosing: Bool) {
        let waiters: [DispatchSemaphore] = state.withLock { state in
            guard var present = state[path] else { return [] }
            if present.owner != key {
                guard let next = present.next, next.owner == key else { return [] }
                present.next = next.count > 1 ? (key, next.count - 1) : nil
                state[path] = present
                return []
            }
            present.count -= 1
            if wasClosing { present.closingCount -= 1 }
            guard present.count == 0 else {
                state[path] = present
                return []
            }
            state[path] = present.next.map { Reservation(owner: $0.owner, count: $0.count) }
            return present.waiters
        }
        for waiter in waiters { waiter.signal() }
    }

    /// Waits until no other transfer can place a file at `path`; blocks for the duration of a disk operation.
    func waitUntilFree(_ path: String, for key: HashDigest) {
        while true {
            let semaphore = state.withLock { state -> DispatchSemaphore? in
                guard let present = state[path], present.owner != key, present.next?.owner == key else {
                    return nil
                }
                let semaphore = DispatchSemaphore(value: 0)
                state[path]?.waiters.append(semaphore)
                return semaphore
            }
            guard let semaphore else { return }
            semaphore.wait()
        }
    }

    /// Returns whether no request for another resource has reserved `path`.
    func isFree(_ path: String, for key: HashDigest) -> Bool {
        state.withLock { state in state[path].map { $0.owner == key } ?? true }
    }
}
