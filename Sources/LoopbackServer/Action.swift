/// An action of a connection's handler.
enum Action: Equatable {
    case wait(Duration)
    /// Waits until the path is released.
    case hold
    case send([UInt8])
    case body(BodyPart, chunked: Bool)
    /// Starts or stops reading from the connection.
    case read(Bool)
    /// Ends the connection.
    case close(ConnectionEnd)
    /// Ends the exchange and keeps the connection open for the next one.
    case finish
}
