/// What the state machine remembers of the exchange under way.
struct ExchangeProgress: Sendable {
    let number: Int
    let asked: AskedRange
    /// Where the next byte belongs.
    var position: Int64
    /// One past the last byte that the head promised; nil while unknown.
    var end: Int64?
    /// Bytes at the body's beginning that are there already.
    var toSkip: Int64 = 0
    /// Whether more came than was promised.
    var overflowed = false
    /// When something last arrived, or was last written.
    var lastActivity: Duration
    /// Whether bytes are being written, so that the engine is held up.
    var isWriting = false
    /// When it was cancelled.
    var cancelledAt: Duration?
    /// The end, when the engine reports it while the store still makes room.
    var earlyEnd: ExchangeEnd?
}
