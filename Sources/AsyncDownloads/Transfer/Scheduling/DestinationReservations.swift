internal import Dispatch

/// Which destinations are taken: no two transfers of one downloader put different resources at one path.
///
/// A path that a request names is reserved until its last subscriber has left. Where the transfer may be placing the file
/// at that moment, the path is closing: the next resource's transfer may start, and waits with placing its own file.
final class DestinationReservations: Sendable {
    private struct Reservation {
        let key: TransferKey
        /// How many subscribers, and how many that have left while their file was being placed.
        var count = 1
        var closingCount = 0
        /// The resource that has reserved the path after this one, and how often.
        var next: (key: TransferKey, count: Int)?
        var waiters: [DispatchSemaphore] = []

        var isClosing: Bool { closingCount == count }
    }

    private struct State {
        var reservations: [String: Reservation] = [:]
    }

    private let state = Mutex(State())

    /// Reserves `path` for one more subscriber of `key`; the answer is the key of another transfer that has it, or nil.
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

    /// One subscriber of `key` has left while its file may be placed; ``release(_:for:wasClosing:)`` follows.
    func close(_ path: String, for key: TransferKey) {
        state.withLock { state in
            if state.reservations[path]?.key == key { state.reservations[path]?.closingCount += 1 }
        }
    }

    /// Releases one reservation.
    ///
    /// - Parameter wasClosing: Whether it is one for which ``close(_:for:)`` was called.
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

    /// Waits until no other transfer may still place a file at `path`; blocks for as long as a disk takes.
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

    /// Whether no request for another resource has reserved `path`.
    func isFree(_ path: String, for key: TransferKey) -> Bool {
        state.withLock { state in state.reservations[path].map { $0.key == key } ?? true }
    }
}
