/// A multiset that counts how often each value occurs.
struct Tally<Value: Hashable & Sendable>: Sendable {
    private var counts: [Value: Int] = [:]

    /// The values that occur.
    var values: some Collection<Value> & Sendable { counts.keys }

    mutating func insert(_ value: Value) {
        counts[value, default: 0] += 1
    }

    /// Removes one occurrence of `value`.
    mutating func remove(_ value: Value) {
        guard let count = counts[value] else { preconditionFailure("removed a value that doesn't occur") }
        counts[value] = count == 1 ? nil : count - 1
    }
}
