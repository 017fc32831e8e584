/// The receivers of a transfer's exchanges that have not ended.
struct TransferConnections: Sendable {
    private var receivers = SerialTable<ExchangeID, ExchangeReceiver>()

    /// The receivers and their exchanges, in the order in which the exchanges began.
    var all: [(id: ExchangeID, receiver: ExchangeReceiver)] {
        receivers.elements.map { (id: $0.id, receiver: $0.element) }
    }

    /// Whether there is more than one exchange.
    var areSeveral: Bool { receivers.count > 1 }

    /// Returns the receiver of an exchange; nil after its end.
    subscript(id: ExchangeID) -> ExchangeReceiver? { receivers[id] }

    /// Adds an exchange that begins.
    mutating func begin(_ id: ExchangeID, _ receiver: ExchangeReceiver) {
        receivers.insert(receiver, id: id)
    }

    /// Removes an exchange that has ended, and returns its receiver.
    mutating func end(_ id: ExchangeID) -> ExchangeReceiver? { receivers.remove(id) }

    /// Removes all exchanges whose ends were not reported.
    mutating func removeAll() {
        receivers = SerialTable()
    }
}
