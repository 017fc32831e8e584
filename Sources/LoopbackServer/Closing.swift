#if ServerStack
/// The two ways in which a connection ends.
package enum Closing: Sendable, Hashable, CaseIterable {
    /// FIN: the client sees the end of the stream.
    case orderly
    /// RST, sent when the client has acknowledged every byte before it: the client sees a reset connection.
    case reset
}
#endif
