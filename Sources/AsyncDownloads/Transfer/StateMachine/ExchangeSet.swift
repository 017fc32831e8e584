/// The exchanges of a transfer that have not ended.
///
/// A transfer over one connection has at most one.
struct ExchangeSet: Sendable {
    private var exchanges: [ExchangeID: ExchangeProgress] = [:]
    private var numbers = SerialNumbers<ExchangeID>()

    /// Whether every exchange has ended.
    var isEmpty: Bool { exchanges.isEmpty }

    /// The exchanges in the order in which they were started.
    var all: [(id: ExchangeID, exchange: ExchangeProgress)] {
        exchanges.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
    }

    /// Adds an exchange, and returns its identifier.
    mutating func add(_ exchange: ExchangeProgress) -> ExchangeID {
        let id = numbers.next()
        exchanges[id] = exchange
        return id
    }

    /// The exchange; nil after its end.
    subscript(id: ExchangeID) -> ExchangeProgress? { exchanges[id] }

    /// Changes the exchange and returns the result; nil after its end.
    mutating func update<Value>(_ id: ExchangeID, _ body: (inout ExchangeProgress) -> Value) -> Value? {
        guard let index = exchanges.index(forKey: id) else { return nil }
        return body(&exchanges.values[index])
    }

    /// Changes every exchange.
    mutating func updateAll(_ body: (ExchangeID, inout ExchangeProgress) -> Void) {
        for id in exchanges.keys { _ = update(id) { body(id, &$0) } }
    }

    /// Removes an exchange that has ended, and returns it.
    mutating func remove(_ id: ExchangeID) -> ExchangeProgress? { exchanges.removeValue(forKey: id) }

    /// Removes the exchanges whose end was reported before the store was ready for their body.
    mutating func removeEnded() {
        exchanges = exchanges.filter { !$0.value.hasEnded }
    }
}
