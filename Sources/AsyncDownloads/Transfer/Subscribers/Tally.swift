/// How often each value occurs in a changing collection.
struct Tally<Value: Hashable & Sendable>: Sendable {
    private var counts: [Value: Int] = [:]

    /// The values that occur.
    var values: some Collection<Value> & Sendable { counts.keys }

    mutating func insert(_ value: Value) {
        counts[value, default: 0] += 1
    }

    /// Removes one occurrence of `value`.
    mutating func remove(_ value: Value) {
        guard let count = counts[value] else { preconditionFailure("a value that does not occur was removed") }
        counts[value] = count == 1 ? nil : count - 1
    }
}
