/// What is known of a host, apart from its present requests.
struct HostMemory: Sendable {
    /// The limit of the host, if something was found out about it; up to date only while the host has no requests.
    var limit: CopyOnWrite<HostLimit>?
    /// The origins of the host that have sent responses, as port numbers, negative for https.
    private var answered: [Int32] = []
    /// The states of origins without requests.
    private var states: [OriginPair: OriginState] = [:]

    /// The maximum numbers of recorded origins of one host, which a redirecting site could otherwise choose.
    private static let (mostAnswered, mostStates) = (16, 64)

    /// Whether something was found out.
    fileprivate var isEmpty: Bool { limit == nil && answered.isEmpty && states.isEmpty }

    /// Records that an origin has sent a response.
    mutating func answered(_ pair: OriginPair) {
        guard let number = Self.number(pair), !answered.contains(number) else { return }
        if answered.count >= Self.mostAnswered { answered.removeFirst() }
        answered.append(number)
    }

    /// Removes and returns the state of an origin, of which no request has waited since it was kept.
    mutating func takeState(of pair: OriginPair, at now: Duration) -> OriginState {
        // Most hosts have none.
        guard !states.isEmpty, var state = states.removeValue(forKey: pair) else { return newState(of: pair) }
        state.renewOutage(at: now)
        return state
    }

    private func newState(of pair: OriginPair) -> OriginState {
        OriginState(hasAnswered: Self.number(pair).map(answered.contains) ?? false)
    }

    /// Keeps the state of an origin, unless it contains nothing of interest.
    mutating func keep(_ state: OriginState, of pair: OriginPair, at now: Duration) {
        guard state.isWorthKeeping(at: now) else { return }
        if states.count >= Self.mostStates { states = states.filter { $0.value.delaysRequests(at: now) } }
        if states.count >= Self.mostStates, let other = states.keys.first { states[other] = nil }
        states[pair] = state
    }

    private static func number(_ pair: OriginPair) -> Int32? {
        pair.target.map { Int32(clamping: $0.isSecure ? -$0.port : $0.port) }
    }
}

/// What is known of hosts that have no requests at present.
struct HostMemories: Sendable {
    static let capacity = 4096
    /// The time for which something is kept.
    private static let time = Duration.seconds(600)
    private static let cleaningInterval = Duration.seconds(60)

    private struct Entry: Sendable {
        let memory: HostMemory
        let lastUse: Duration
        let number: Int
    }

    private var entries: [String: Entry] = [:]
    private var lastNumber = 0
    private var lastCleaning = Duration.zero

    /// Keeps what is known of a host.
    mutating func keep(_ memory: HostMemory, of host: String, at now: Duration) {
        guard !memory.isEmpty else { return }
        lastNumber += 1
        entries[host] = Entry(memory: memory, lastUse: now, number: lastNumber)
        if now - lastCleaning >= Self.cleaningInterval {
            lastCleaning = now
            entries = entries.filter { now - $0.value.lastUse < Self.time }
        }
        // Removing half of the entries makes the cost of each one small on average.
        guard entries.count > Self.capacity else { return }
        let median = entries.values.map(\.number).sorted()[entries.count / 2]
        entries = entries.filter { $0.value.number >= median }
    }

    /// Removes and returns what is known of a host.
    mutating func take(_ host: String) -> HostMemory {
        // Most downloaders keep nothing.
        entries.isEmpty ? HostMemory() : entries.removeValue(forKey: host)?.memory ?? HostMemory()
    }
}
