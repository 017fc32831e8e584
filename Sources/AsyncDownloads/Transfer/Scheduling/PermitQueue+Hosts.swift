extension PermitQueue {
    /// The hosts with requests that wait or run, found by slot and by name.
    ///
    /// The limit of a host without requests is kept apart, and used again with its next request.
    struct Hosts: Sendable {
        private let settings: HostLimit.Settings
        private var table = SlotTable<Host>()
        private var slots: [String: Int32] = [:]
        private var idleLimits = IdleHostLimits()

        init(_ settings: HostLimit.Settings) {
            self.settings = settings
        }

        /// Returns the host in a slot, which must be in use.
        subscript(slot: Int32) -> Host { table[slot] }

        /// Returns the host with this name, or nil if it has no requests.
        subscript(name: String) -> Host? { slots[name].map { table[$0] } }

        /// Returns the slot of the host with this name, which is added if necessary.
        mutating func slot(of name: String) -> Int32 {
            if let slot = slots[name] { return slot }
            let slot = table.insert(Host(name: name, limit: idleLimits.take(name) ?? HostLimit(settings)))
            slots[name] = slot
            return slot
        }

        /// Changes the host in a slot, which must be in use.
        mutating func update<Value>(_ slot: Int32, _ body: (inout Host) -> Value) -> Value {
            table.update(slot, body)
        }

        /// Removes the host in a slot, which must have no requests.
        mutating func remove(at slot: Int32) {
            let host = table[slot]
            slots[host.name] = nil
            idleLimits.keep(host.limit, of: host.name)
            table.remove(at: slot)
        }
    }

    /// The requests of one host that wait or run; there is no value for a host without requests.
    struct Host: Sendable {
        let name: String
        var limit: HostLimit
        var runningCount = 0
        /// The waiting requests, by their ranks in descending order.
        var lines = [SlotHeap<Request>](repeating: SlotHeap(), count: ranks.count)
        /// The number of consecutive times that the host reached its limit while its oldest request was still waiting.
        var passedOver = 0

        var isIdle: Bool { runningCount == 0 && !isInDemand }
        /// Whether a request waits.
        var isInDemand: Bool { !lines.allSatisfy(\.isEmpty) }
        var isBelowLimit: Bool { runningCount < limit.concurrency.count }

        init(name: String, limit: HostLimit) {
            self.name = name
            self.limit = limit
        }

        /// Adds a running request, which reserves one of the requests that the host permits.
        mutating func enter(at now: Duration) {
            runningCount += 1
            limit.reserve(at: now)
        }

        /// Removes a running request.
        mutating func leave(_ request: Request) {
            runningCount -= 1
            if request.isReserved { limit.withdraw() }
            if request.isAccepted { limit.succeeded(isInDemand: isInDemand) }
        }

        private static let ranks = [DownloadRequest.Priority.high, .normal, .low].map(\.rank)

        /// Returns the index in ``lines`` of the requests with this rank.
        static func line(_ rank: Int8) -> Int {
            guard let index = ranks.firstIndex(of: rank) else { preconditionFailure("no priority has rank \(rank)") }
            return index
        }
    }
}

/// The limits of hosts that no transfer uses at present.
struct IdleHostLimits: Sendable {
    static let capacity = 1024

    private struct Entry: Sendable {
        let limit: HostLimit
        let number: Int
    }

    private var entries: [String: Entry] = [:]
    private var lastNumber = 0

    /// Keeps the limit of a host, unless it contains nothing of interest.
    mutating func keep(_ limit: HostLimit, of host: String) {
        guard limit.isWorthKeeping else { return }
        lastNumber += 1
        entries[host] = Entry(limit: limit, number: lastNumber)
        // Removing half of the entries makes the cost of each one small on average.
        guard entries.count > Self.capacity else { return }
        let median = entries.values.map(\.number).sorted()[entries.count / 2]
        entries = entries.filter { $0.value.number >= median }
    }

    /// Removes and returns the limit of a host, or returns nil if there is none.
    mutating func take(_ host: String) -> HostLimit? {
        // Most downloaders keep nothing.
        entries.isEmpty ? nil : entries.removeValue(forKey: host)?.limit
    }
}
