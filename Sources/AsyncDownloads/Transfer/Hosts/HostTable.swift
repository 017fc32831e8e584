/// A downloader's knowledge about hosts and their origins: their queued requests, their limits, and their failures.
///
/// A host or an origin has an entry while requests for it are waiting, running, or unanswered. The state of other hosts
/// is kept separately for some time.
struct HostTable: Sendable {
    /// The requests of one host.
    struct HostEntry: Sendable {
        let name: String
        var limit: HostLimit
        /// The number of requests with a permit.
        var runningCount = 0
        /// The number of running requests that silent origins haven't answered.
        var silentCount = 0
        /// The number of waiting requests.
        var waitingCount = 0
        /// The number of consecutive times that the host reached its limit while its oldest request was still waiting.
        var passedOver = 0
        /// The first requests in line by priority and by age, one for each origin to which requests may be sent.
        var urgentOrigins = Heap<Int32, PermitQueue.Position>()
        var oldestOrigins = Heap<Int32, PermitQueue.Position>()
        fileprivate var originCount = 0
        fileprivate var memory: HostMemory

        /// Returns the number of running requests that count toward the limit for one of the host's origins.
        ///
        /// Unless the limit is configured, the requests that other silent origins haven't answered don't count.
        ///
        /// - Parameter ownSilentCount: The origin's part of ``silentCount``.
        func runningCount(ownSilentCount: Int) -> Int {
            limit.concurrency.isFixed ? runningCount : runningCount - silentCount + ownSilentCount
        }

        /// Returns whether the limit permits another request to one of the host's origins.
        func isBelowLimit(ownSilentCount: Int) -> Bool {
            let count = limit.concurrency.count
            return runningCount(ownSilentCount: ownSilentCount) < count
                && runningCount < max(count, ConcurrencyLimit.maximumCount)
        }

        fileprivate init(_ name: String, _ memory: HostMemory, _ settings: HostLimit.Settings) {
            self.name = name
            self.memory = memory
            limit = memory.limit?.value ?? HostLimit(settings)
        }
    }

    /// The requests of one origin.
    struct OriginEntry: Sendable {
        let pair: OriginPair
        /// The slot of the host.
        let host: Int32
        var state: OriginState
        /// The waiting requests, by their ranks in descending order.
        var lines = [SlotHeap<PermitQueue.Request>](repeating: SlotHeap(), count: ranks.count)
        var waitingCount = 0
        /// The number of requests that wait outside the lines, because their resources are refused.
        var delayedCount = 0
        /// The number of waiting requests whose transfers permit no retry, and therefore don't wait during an outage.
        var impatientCount = 0
        var runningCount = 0
        /// The number of requests with a permit that the origin has accepted.
        var servingCount = 0
        var unansweredCount = 0
        /// Whether no request may be sent at present, although some are waiting.
        var isBlocked = false
        /// The number of waiting requests that were last counted as held up.
        var heldUpCount = 0
        /// The number of running requests that were last counted as not answered by a silent origin.
        var silentCount = 0

        fileprivate var isIdle: Bool { waitingCount + delayedCount + runningCount + unansweredCount == 0 }

        /// The slot of the waiting request that is first by priority.
        var mostUrgent: Int32? {
            for line in lines { if let first = line.first { return first } }
            return nil
        }

        /// Returns the slot of the waiting request that is first by age.
        func oldest(in requests: SlotTable<PermitQueue.Request>) -> Int32? {
            var oldest: Int32?
            for line in lines {
                guard let first = line.first else { continue }
                guard let other = oldest, requests[other].order < requests[first].order else {
                    oldest = first
                    continue
                }
            }
            return oldest
        }

        private static let ranks = [DownloadRequest.Priority.high, .normal, .low].map(\.rank)

        /// Returns the index in ``lines`` of the requests with this rank.
        static func line(_ rank: Int8) -> Int {
            guard let index = ranks.firstIndex(of: rank) else { preconditionFailure("no priority has rank \(rank)") }
            return index
        }
    }

    let settings: HostLimit.Settings
    private var hosts = SlotTable<HostEntry>()
    private var hostSlots: [String: Int32] = [:]
    private var origins = SlotTable<OriginEntry>()
    private var originSlots: [OriginPair: Int32] = [:]
    private var memory = HostMemories()
    /// The number of the last request that was begun.
    private(set) var lastNumber = 0

    init(_ settings: HostLimit.Settings) {
        self.settings = settings
    }
}

// MARK: - Entries

extension HostTable {
    /// Returns the host in a slot, which must be in use.
    func host(_ slot: Int32) -> HostEntry { hosts[slot] }

    /// Returns the host with this name; nil if it has no requests.
    func host(named name: String) -> HostEntry? { hostSlots[name].map { hosts[$0] } }

    /// Returns the origin in a slot, which must be in use.
    func origin(_ slot: Int32) -> OriginEntry { origins[slot] }

    /// Changes the host in a slot, which must be in use.
    mutating func updateHost<Value>(_ slot: Int32, _ body: (inout HostEntry) -> Value) -> Value {
        hosts.update(slot, body)
    }

    /// Changes the origin in a slot, which must be in use.
    mutating func updateOrigin<Value>(_ slot: Int32, _ body: (inout OriginEntry) -> Value) -> Value {
        origins.update(slot, body)
    }

    /// Returns the slot of an origin, which is added if necessary.
    mutating func slot(of pair: OriginPair, at now: Duration) -> Int32 {
        if let slot = originSlots[pair] { return slot }
        let host = hostSlot(pair.host)
        let state = hosts.update(host) { host in
            host.originCount += 1
            return host.memory.takeState(of: pair, at: now)
        }
        let slot = origins.insert(OriginEntry(pair: pair, host: host, state: state))
        originSlots[pair] = slot
        return slot
    }

    private mutating func hostSlot(_ name: String) -> Int32 {
        if let slot = hostSlots[name] { return slot }
        let slot = hosts.insert(HostEntry(name, memory.take(name), settings))
        hostSlots[name] = slot
        return slot
    }

    /// Returns the number of a request, which is being sent.
    mutating func begin() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Reserves a request to an origin, which will be sent soon.
    ///
    /// - Parameter countsForHost: Whether to reserve one of the requests that the host permits, too.
    mutating func reserve(_ slot: Int32, countsForHost: Bool, at now: Duration) {
        let host = origins.update(slot) { origin in
            origin.state.pace.reserve(lastNumber, at: now)
            return origin.host
        }
        if countsForHost { hosts.update(host) { $0.limit.reserve(at: now) } }
    }

    /// Records that an origin has answered a request.
    mutating func answered(_ slot: Int32, isAccepted: Bool) {
        let origin = origins[slot]
        hosts.update(origin.host) { $0.memory.answered(origin.pair, isAccepted: isAccepted) }
    }

    /// Returns the observations about several connections of one file from an origin.
    func connections(of origin: Origin) -> OriginConnections {
        (host(named: origin.host)?.memory ?? memory[origin.host])[origin]
    }

    /// Changes the observations about several connections of one file from an origin.
    mutating func updateConnections(
        of origin: Origin, at now: Duration, _ body: (inout OriginConnections) -> Void
    ) {
        if let slot = hostSlots[origin.host] { return hosts.update(slot) { body(&$0.memory[origin]) } }
        var host = memory.take(origin.host)
        body(&host[origin])
        memory.keep(host, of: origin.host, at: now)
    }

    /// Removes an origin without requests, and its host if it has no other origin; what was learned about them is kept.
    mutating func removeIfIdle(_ slot: Int32, at now: Duration) {
        guard origins.update(slot, \.isIdle) else { return }
        let origin = origins[slot]
        originSlots[origin.pair] = nil
        origins.remove(at: slot)
        let isLast = hosts.update(origin.host) { host in
            host.originCount -= 1
            host.memory.keep(origin.state, of: origin.pair, at: now)
            return host.originCount == 0
        }
        guard isLast else { return }
        var host = hosts[origin.host]
        hostSlots[host.name] = nil
        hosts.remove(at: origin.host)
        host.memory.limit = host.limit.isInitial ? nil : CopyOnWrite(host.limit)
        memory.keep(host.memory, of: host.name, at: now)
    }
}
