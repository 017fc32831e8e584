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
