extension PermitQueue {
    /// Identifies one request for a permit; ticket numbers increase and are never reused.
    struct Ticket: Sendable, Hashable, Comparable {
        let number: Int
        /// The slot that stores the request, which is reused after the request is released.
        let slot: Int32

        static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// The stage of a request.
    enum Stage: Sendable {
        /// The request is waiting for a permit.
        case waiting
        /// The request has a permit, and counts as running at its host.
        case running
        /// The request has yielded its permit, and its transfer still has open files.
        case finishing
    }

    /// The count of grants, after which the oldest request gets a permit at a fixed interval.
    struct AgeTurn: Sendable {
        /// The interval, in grants, at which one is made by age instead of by priority.
        static let period = 8

        private var grantCount = 0
        /// Whether the next grant is made by age.
        var isDue = false
        /// Whether the last grant was made by age.
        var wasByAge = false

        /// Counts a grant.
        mutating func granted() {
            grantCount += 1
            if grantCount % Self.period == Self.period - 1 { isDue = true }
        }
    }

    /// The position of a request: requests to silent origins last, then by priority, then by the place in line.
    ///
    /// Among hosts, one with fewer running transfers is first, so that the files of one host don't delay all files of
    /// another.
    struct Position: Comparable, Sendable {
        /// Whether the request comes after those to origins that aren't silent.
        var isSilent = false
        /// The number of running requests that the origin hasn't answered, if it is silent.
        var silentCount = 0
        let rank: Int8
        /// The number of running transfers of the host, if the position is that of a host.
        var runningCount = 0
        let place: Int
        let number: Int

        static func < (left: Self, right: Self) -> Bool {
            if left.isSilent != right.isSilent { return right.isSilent }
            if left.rank != right.rank { return left.rank > right.rank }
            if left.runningCount != right.runningCount { return left.runningCount < right.runningCount }
            return left.place != right.place ? left.place < right.place : left.number < right.number
        }
    }

    /// A request for a permit.
    struct Request: HeapElement {
        let number: Int
        /// The number of the ticket that determines the place in line.
        let place: Int
        /// The slot of the origin; meaningless while the request is finishing.
        var origin: Int32
        var heapIndex: Int32 = 0
        var rank: Int8
        /// The number of retries that the policy of the transfer permits.
        var retryLimit: Int
        /// Whether the request waits outside the lines, because its resource is refused.
        var isDelayed = false
        var stage = Stage.waiting
        /// The time at which the permit's request to the host was reserved, while it has not begun.
        var reservation: Duration?
        /// Whether the origin has accepted the last request of the transfer.
        var isAccepted = false

        var isReserved: Bool { reservation != nil }
        /// Whether the request waits while its origin can't be reached.
        var isPatient: Bool { retryLimit > 0 }
        var position: Position { Position(rank: rank, place: place, number: number) }
        /// The position among requests of the same origin and rank.
        var order: Position { Position(rank: 0, place: place, number: number) }
    }
}
