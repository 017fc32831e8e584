/// The two ways in which a connection ends.
package enum ConnectionEnd: Sendable, Hashable, CaseIterable {
    /// The server sends FIN: the client sees the end of the stream.
    case orderly
    /// The server sends RST once the client has acknowledged every earlier byte: the client sees a reset connection.
    case reset
}
