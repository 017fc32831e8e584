/// A multiset that counts how often each value occurs.
///
/// There are few different values, so that comparing them costs less than hashing them.
struct Tally<Value: Equatable & Sendable>: Sendable {
    private struct Entry: Sendable {
        let value: Value
        var count = 1
    }

    private var entries: [Entry] = []

    /// The values that occur, each once.
    var values: some Collection<Value> { entries.lazy.map(\.value) }

    mutating func insert(_ value: Value) {
        if let index = entries.firstIndex(where: { $0.value == value }) {
            entries[index].count += 1
        } else {
            entries.append(Entry(value: value))
        }
    }

    /// Removes one occurrence of `value`.
    mutating func remove(_ value: Value) {
        guard let index = entries.firstIndex(where: { $0.value == value }) else {
            preconditionFailure("removed a value that doesn't occur")
        }
        entries[index].count -= 1
        if entries[index].count == 0 { entries.remove(at: index) }
    }
}
