/// What is known of a host, apart from its present requests.
struct HostMemory: Sendable {
    /// The limit of the host, if something was found out about it; up to date only while the host has no requests.
    var limit: CopyOnWrite<HostLimit>?
    /// The numbers of the origins that have sent responses.
    private var answered: [Int32] = []
    /// What origins have shown about several connections of one file, by their numbers.
    private var connections: [Int32: OriginConnections] = [:]
    /// The states of origins without requests.
    private var states: [OriginPair: OriginState] = [:]

    /// The maximum numbers of recorded origins of one host, which a redirecting site could otherwise choose.
    private static let (mostAnswered, mostStates) = (16, 64)

    /// Whether something was found out.
    fileprivate var isEmpty: Bool { limit == nil && answered.isEmpty && states.isEmpty && connections.isEmpty }

    /// What is kept however long the host has no requests, because a long file benefits from it.
    fileprivate var lasting: Self {
        var memory = Self()
        memory.connections = connections
        return memory
    }

    /// Records that an origin has sent a response.
    mutating func answered(_ pair: OriginPair) {
        guard let number = pair.target.map(Self.number), !answered.contains(number) else { return }
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
        OriginState(hasAnswered: pair.target.map(Self.number).map(answered.contains) ?? false)
    }

    /// Keeps the state of an origin, unless it contains nothing of interest.
    mutating func keep(_ state: OriginState, of pair: OriginPair, at now: Duration) {
        guard state.isWorthKeeping(at: now) else { return }
        if states.count >= Self.mostStates { states = states.filter { $0.value.delaysRequests(at: now) } }
        if states.count >= Self.mostStates, let other = states.keys.first { states[other] = nil }
        states[pair] = state
    }

    /// What an origin of the host has shown about several connections of one file.
    subscript(origin: Origin) -> OriginConnections {
        get { connections[Self.number(origin)] ?? OriginConnections() }
        set {
            let number = Self.number(origin)
            guard !newValue.isEmpty else { return connections[number] = nil }
            if connections[number] == nil, connections.count >= Self.mostAnswered, let other = connections.keys.first {
                connections[other] = nil
            }
            connections[number] = newValue
        }
    }

    /// Returns the port of an origin, as a negative number for https.
    private static func number(_ origin: Origin) -> Int32 {
        Int32(clamping: origin.isSecure ? -origin.port : origin.port)
    }
}

/// What is known of hosts that have no requests at present.
struct HostMemories: Sendable {
    static let capacity = 4096
    /// The time after which only ``HostMemory/lasting`` is kept.
    private static let time = Duration.seconds(600)
    private static let cleaningInterval = Duration.seconds(60)

    private struct Entry: Sendable {
        var memory: HostMemory
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
            entries = entries.compactMapValues { entry in
                var entry = entry
                if now - entry.lastUse >= Self.time { entry.memory = entry.memory.lasting }
                return entry.memory.isEmpty ? nil : entry
            }
        }
        // Removing half of the entries makes the cost of each one small on average.
        guard entries.count > Self.capacity else { return }
        let median = entries.values.map(\.number).sorted()[entries.count / 2]
        entries = entries.filter { $0.value.number >= median }
    }

    /// What is known of a host.
    subscript(host: String) -> HostMemory { entries[host]?.memory ?? HostMemory() }

    /// Removes and returns what is known of a host.
    mutating func take(_ host: String) -> HostMemory {
        // Most downloaders keep nothing.
        entries.isEmpty ? HostMemory() : entries.removeValue(forKey: host)?.memory ?? HostMemory()
    }
}
