/// The recorded state of a host, apart from its present requests.
struct HostMemory: Sendable {
    /// The limits of the host, if something was learned about them; up to date only while the host has no requests.
    var limit: CopyOnWrite<HostLimit>?
    /// The numbers of the origins that have answered, and whether they have accepted a request.
    private var answered: [(number: Int32, isAccepted: Bool)] = []
    /// The observations about several connections of one file, by the numbers of their origins.
    private var connections: [Int32: OriginConnections] = [:]
    /// The states of origins without requests.
    private var states: [OriginPair: OriginState] = [:]

    /// The maximum numbers of recorded origins of one host; without them, a redirecting site could choose any number.
    private static let (mostOrigins, mostStates) = (16, 64)

    /// Whether nothing was learned.
    fileprivate var isEmpty: Bool { limit == nil && answered.isEmpty && states.isEmpty && connections.isEmpty }

    /// The part that is kept for any time without requests: large files benefit from the observations, and an outage of
    /// an origin that has answered before is waited for.
    fileprivate var lasting: Self {
        var memory = Self()
        (memory.answered, memory.connections) = (answered, connections)
        return memory
    }

    /// Records that an origin has answered a request.
    mutating func answered(_ pair: OriginPair, isAccepted: Bool) {
        guard let number = pair.target.map(Self.number) else { return }
        if let index = answered.firstIndex(where: { $0.number == number }) {
            if isAccepted { answered[index].isAccepted = true }
        } else {
            if answered.count >= Self.mostOrigins { answered.removeFirst() }
            answered.append((number, isAccepted))
        }
    }

    /// Removes and returns the recorded state of an origin; no request has been waiting since it was recorded.
    mutating func takeState(of pair: OriginPair, at now: Duration) -> OriginState {
        // Most hosts have no recorded states.
        guard !states.isEmpty, var state = states.removeValue(forKey: pair) else { return newState(of: pair) }
        state.renew(at: now)
        return state
    }

    private func newState(of pair: OriginPair) -> OriginState {
        let number = pair.target.map(Self.number)
        let record = answered.first { $0.number == number }
        return OriginState(hasAnswered: record != nil, hasAccepted: record?.isAccepted ?? false)
    }

    /// Records the state of an origin if it is worth keeping.
    mutating func keep(_ state: OriginState, of pair: OriginPair, at now: Duration) {
        guard state.isWorthKeeping(at: now) else { return }
        if states.count >= Self.mostStates { states = states.filter { $0.value.delaysRequests(at: now) } }
        if states.count >= Self.mostStates, let other = states.keys.first { states[other] = nil }
        states[pair] = state.trimmed
    }

    /// The observations about several connections of one file from an origin of the host.
    subscript(origin: Origin) -> OriginConnections {
        get { connections[Self.number(origin)] ?? OriginConnections() }
        set {
            let number = Self.number(origin)
            guard !newValue.isEmpty else { return connections[number] = nil }
            if connections[number] == nil, connections.count >= Self.mostOrigins, let other = connections.keys.first {
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

/// The recorded states of hosts that currently have no requests.
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

    /// Records the state of a host.
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

    /// The recorded state of a host.
    subscript(host: String) -> HostMemory { entries[host]?.memory ?? HostMemory() }

    /// Removes and returns the recorded state of a host.
    mutating func take(_ host: String) -> HostMemory {
        // Most downloaders record nothing.
        entries.isEmpty ? HostMemory() : entries.removeValue(forKey: host)?.memory ?? HostMemory()
    }
}
