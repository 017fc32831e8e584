internal import Dispatch

/// The destinations that are in use, so that no two transfers of one downloader place different resources at one path.
///
/// A path that a request names is reserved until its last subscriber is detached. If the transfer may be placing the
/// file at that moment, the path is closing: the transfer of the next resource may start, and waits before it places
/// its own file.
final class DestinationReservations: Sendable {
    private struct Reservation {
        let key: TransferKey
        /// The number of subscribers, and of those that were detached while their file was being placed.
        var count = 1
        var closingCount = 0
        /// The resource for which the path was reserved after this one, and its number of subscribers.
        var next: (key: TransferKey, count: Int)?
        var waiters: [DispatchSemaphore] = []

        var isClosing: Bool { closingCount == count }
    }

    private struct State {
        var reservations: [String: Reservation] = [:]
    }

    private let state = Mutex(State())

    /// Reserves `path` for one more subscriber of `key`.
    ///
    /// - Returns: Nil if the path was reserved, or the key of the other transfer that has reserved it.
    func reserve(_ path: String, for key: TransferKey) -> TransferKey? {
        state.withLock { state in
            guard var present = state.reservations[path] else {
                state.reservations[path] = Reservation(key: key)
                return nil
            }
            if present.next == nil, present.key == key {
                present.count += 1
            } else if let next = present.next {
                guard next.key == key else { return next.key }
                present.next?.count += 1
            } else {
                guard present.isClosing else { return present.key }
                present.next = (key, 1)
            }
            state.reservations[path] = present
            return nil
        }
    }

    /// Records that a subscriber of `key` was detached while its file may be placed.
    ///
    /// A call of ``release(_:for:wasClosing:)`` must follow.
    func close(_ path: String, for key: TransferKey) {
        state.withLock { state in
            if state.reservations[path]?.key == key { state.reservations[path]?.closingCount += 1 }
        }
    }

    /// Releases one reservation.
    ///
    /// - Parameter wasClosing: Whether ``close(_:for:)`` was called for this reservation.
    func release(_ path: String, for key: TransferKey, wasClosing: Bool) {
        let waiters: [DispatchSemaphore] = state.withLock { state in
            guard var present = state.reservations[path] else { return [] }
            if present.key != key {
                guard let next = present.next, next.key == key else { return [] }
                present.next = next.count > 1 ? (key, next.count - 1) : nil
                state.reservations[path] = present
                return []
            }
            present.count -= 1
            if wasClosing { present.closingCount -= 1 }
            guard present.count == 0 else {
                state.reservations[path] = present
                return []
            }
            state.reservations[path] = present.next.map { Reservation(key: $0.key, count: $0.count) }
            return present.waiters
        }
        for waiter in waiters { waiter.signal() }
    }

    /// Waits until no other transfer can place a file at `path`; blocks for the duration of a disk operation.
    func waitUntilFree(_ path: String, for key: TransferKey) {
        while true {
            let semaphore = state.withLock { state -> DispatchSemaphore? in
                guard let present = state.reservations[path], present.key != key, present.next?.key == key else {
                    return nil
                }
                let semaphore = DispatchSemaphore(value: 0)
                state.reservations[path]?.waiters.append(semaphore)
                return semaphore
            }
            guard let semaphore else { return }
            semaphore.wait()
        }
    }

    /// Returns whether no request for another resource has reserved `path`.
    func isFree(_ path: String, for key: TransferKey) -> Bool {
        state.withLock { state in state.reservations[path].map { $0.key == key } ?? true }
    }
}
