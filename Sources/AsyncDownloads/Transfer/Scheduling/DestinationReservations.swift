internal import Dispatch

/// Reservations of destination paths, which prevent two transfers of one downloader from placing different resources
/// at the same path.
///
/// A path that a request specifies is reserved until its last subscriber is detached. If the transfer may be placing
/// the file at that moment, the path is *closing*: a transfer of another resource may start, but it waits before it
/// places its own file.
final class DestinationReservations: Sendable {
    /// The subscribers of one transfer that have reserved a path.
    private struct Claim {
        let owner: HashDigest
        /// The number of subscribers, and the number that were detached while their file was being placed.
        var count = 1
        var closingCount = 0

        var isClosing: Bool { closingCount == count }
    }

    /// The claims on one path.
    private struct Reservation {
        var present: Claim
        /// The claim of the resource that has reserved the path next.
        var next: Claim?
        var waiters: [DispatchSemaphore] = []

        init(owner: HashDigest) {
            present = Claim(owner: owner)
        }

        /// Whether the path is reserved for the transfer after the present one.
        func isNext(_ key: HashDigest) -> Bool { present.owner != key && next?.owner == key }

        /// Changes the claim of a transfer, and returns whether there is one.
        mutating func update(_ key: HashDigest, _ body: (inout Claim) -> Void) -> Bool {
            if present.owner == key {
                body(&present)
                return true
            }
            guard var claim = next, claim.owner == key else { return false }
            body(&claim)
            next = claim
            return true
        }
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
                reservation.present.count == 1 && reservation.present.closingCount == 0 && reservation.next == nil
                && reservation.waiters.isEmpty
            self = isSingle ? .single(reservation.present.owner) : .several(reservation)
        }
    }

    private struct State {
        /// The reservations by the digests of their paths.
        private var entries: [HashDigest: Entry] = [:]

        subscript(path: String) -> Reservation? {
            get { entries[HashDigest(bytesOf: path)]?.reservation }
            set { entries[HashDigest(bytesOf: path)] = newValue.map { Entry($0) } }
        }
    }

    private let state = Mutex(State())

    /// Reserves `path` for one subscriber of a transfer.
    ///
    /// - Returns: Nil if the path was reserved; otherwise, the key of the other transfer that has reserved it.
    func reserve(_ path: String, for key: HashDigest) -> HashDigest? {
        state.withLock { state in
            guard var reservation = state[path] else {
                state[path] = Reservation(owner: key)
                return nil
            }
            if let next = reservation.next, next.owner != key { return next.owner }
            if reservation.next == nil, reservation.present.owner != key {
                guard reservation.present.isClosing else { return reservation.present.owner }
                reservation.next = Claim(owner: key)
            } else if reservation.next != nil {
                reservation.next?.count += 1
            } else {
                reservation.present.count += 1
            }
            state[path] = reservation
            return nil
        }
    }

    /// Records that a subscriber of `key` was detached while its file may be placed.
    ///
    /// A call of ``release(_:for:wasClosing:)`` must follow.
    func close(_ path: String, for key: HashDigest) {
        state.withLock { state in
            guard var reservation = state[path], reservation.update(key, { $0.closingCount += 1 }) else { return }
            state[path] = reservation
        }
    }

    /// Releases one reservation.
    ///
    /// - Parameter wasClosing: Whether ``close(_:for:)`` was called for this reservation.
    func release(_ path: String, for key: HashDigest, wasClosing: Bool) {
        let waiters: [DispatchSemaphore] = state.withLock { state in
            guard var reservation = state[path] else { return [] }
            let isHeld = reservation.update(key) { claim in
                claim.count -= 1
                if wasClosing { claim.closingCount -= 1 }
            }
            guard isHeld else { return [] }
            if reservation.next?.count == 0 { reservation.next = nil }
            guard reservation.present.count == 0 else {
                state[path] = reservation
                return []
            }
            let waiters = reservation.waiters
            guard let next = reservation.next else {
                state[path] = nil
                return waiters
            }
            (reservation.present, reservation.next, reservation.waiters) = (next, nil, [])
            state[path] = reservation
            return waiters
        }
        for waiter in waiters { waiter.signal() }
    }

    /// Returns whether another transfer may still be placing a file at `path`, before the transfer of `key`.
    func isBeingPlaced(_ path: String, before key: HashDigest) -> Bool {
        state.withLock { state in state[path]?.isNext(key) ?? false }
    }

    /// Waits until no other transfer can place a file at `path`; blocks for the duration of a disk operation.
    func waitUntilFree(_ path: String, for key: HashDigest) {
        while true {
            let semaphore = state.withLock { state -> DispatchSemaphore? in
                guard var reservation = state[path], reservation.isNext(key) else { return nil }
                let semaphore = DispatchSemaphore(value: 0)
                reservation.waiters.append(semaphore)
                state[path] = reservation
                return semaphore
            }
            guard let semaphore else { return }
            semaphore.wait()
        }
    }

    /// Returns whether `path` is unreserved, or reserved for this resource.
    func isFree(_ path: String, for key: HashDigest) -> Bool {
        state.withLock { state in state[path].map { $0.present.owner == key } ?? true }
    }
}
