/// A number that identifies one element of a transfer and is never reused.
protocol SerialIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// The number, counted from 1.
    var rawValue: Int { get }

    init(rawValue: Int)
}

extension SerialIdentifier {
    var description: String { "\(rawValue)" }
}

/// Identifies one exchange of a transfer.
struct ExchangeID: SerialIdentifier {
    let rawValue: Int
}

/// Identifies one request for a permit.
struct PermitRequestID: SerialIdentifier {
    let rawValue: Int
}

/// Identifies one delay.
struct TimerID: SerialIdentifier {
    let rawValue: Int
}

/// Identifies one request to a subscriber, for a fresh URL or for secret headers.
struct RefreshID: SerialIdentifier {
    let rawValue: Int
}

/// The identifiers that a state machine has used.
struct TransferIdentifiers: Sendable {
    var exchanges = SerialNumbers<ExchangeID>()
    var permits = SerialNumbers<PermitRequestID>()
    var timers = SerialNumbers<TimerID>()
    var refreshes = SerialNumbers<RefreshID>()
}

/// Identifies one subscriber of a transfer.
struct SubscriberID: SerialIdentifier {
    let rawValue: Int
}

/// Identifies one event stream of a transfer.
struct StreamID: SerialIdentifier {
    let rawValue: Int
}

/// Identifies one observer of a subscriber.
struct ObserverID: SerialIdentifier {
    let rawValue: Int
}

/// Identifies one consumer that awaits a subscriber's outcome.
struct WaiterID: SerialIdentifier {
    let rawValue: Int
}

/// A source of unique identifiers.
struct SerialNumbers<ID: SerialIdentifier>: Sendable {
    private var last = 0

    /// Returns an identifier that has not been returned before.
    mutating func next() -> ID {
        last += 1
        return ID(rawValue: last)
    }
}
