/// The exchanges of a transfer that have not ended.
///
/// A transfer over one connection has at most one.
struct ExchangeSet: Sendable {
    private var exchanges = SerialTable<ExchangeID, ExchangeProgress>()
    private var numbers = SerialNumbers<ExchangeID>()

    /// Whether every exchange has ended.
    var isEmpty: Bool { exchanges.isEmpty }

    /// The exchanges in the order in which they were started.
    var all: some Sequence<(id: ExchangeID, exchange: ExchangeProgress)> {
        exchanges.elements.lazy.map { (id: $0.id, exchange: $0.element) }
    }

    /// Adds an exchange, and returns its identifier.
    mutating func add(_ exchange: ExchangeProgress) -> ExchangeID {
        let id = numbers.next()
        exchanges.insert(exchange, id: id)
        return id
    }

    /// The exchange; nil after its end.
    subscript(id: ExchangeID) -> ExchangeProgress? { exchanges[id] }

    /// Changes the exchange and returns the result; nil after its end.
    mutating func update<Value>(_ id: ExchangeID, _ body: (inout ExchangeProgress) -> Value) -> Value? {
        exchanges.update(id, body)
    }

    /// Changes every exchange.
    mutating func updateAll(_ body: (ExchangeID, inout ExchangeProgress) -> Void) {
        exchanges.updateAll(body)
    }

    /// Removes an exchange that has ended, and returns it.
    mutating func remove(_ id: ExchangeID) -> ExchangeProgress? { exchanges.remove(id) }

    /// Removes the exchanges whose end was reported before the store was ready for their body.
    mutating func removeEnded() {
        exchanges.removeAll(where: \.hasEnded)
    }
}
