/// The parts of one exchange's body that wait to be passed to its handler on another thread, and the end behind them.
///
/// A small part is passed where it arrives, which is cheapest. A large part means that the server sends faster than
/// the handler takes: it is queued, so that the next part is read while this one is written. A part that arrives behind
/// a queued one is queued too, whatever its size, so that the handler is called in order and never concurrently.
struct PartQueue<Part: Sendable>: Sendable {
    /// The way of a part that has arrived.
    enum Decision: Equatable {
        /// The part is passed to the handler at once.
        case pass
        /// The part was queued; if it is the first one, someone has to begin to pass the parts.
        case queued(isFirst: Bool)
    }

    /// The number of bytes from which a part is queued.
    let leastLength: Int
    /// The number of bytes, waiting or in progress, at which no more are read.
    let capacity: Int

    /// Whether the handler has received the first part and is not ready for another one.
    var isHeldBack = false

    private var parts: [(part: Part, length: Int)] = []
    private var byteCount = 0
    private var end: ExchangeEnd?
    private var hasEnded = false

    init(leastLength: Int, capacity: Int) {
        self.leastLength = leastLength
        self.capacity = capacity
    }

    /// The part that is to be passed next, or is being passed.
    var first: Part? { parts.first?.part }

    /// Whether another part must not be read.
    var isFull: Bool { byteCount >= capacity }

    /// Adds a part that has arrived, unless it is to be passed at once.
    mutating func arrived(_ part: Part, length: Int) -> Decision {
        guard !parts.isEmpty || length >= leastLength else { return .pass }
        return append([(part, length)])
    }

    /// Adds the pieces of a part that has arrived, which are queued whatever their length is.
    mutating func arrived(pieces: [(Part, length: Int)]) -> Decision {
        append(pieces.map { (part: $0.0, length: $0.length) })
    }

    /// Keeps the place of a part that was passed at once, because the handler is not ready for another one.
    mutating func heldBack(_ part: Part, length: Int) {
        _ = append([(part, length)])
        isHeldBack = true
    }

    private mutating func append(_ new: [(part: Part, length: Int)]) -> Decision {
        defer {
            parts += new
            byteCount += new.reduce(0) { $0 + $1.length }
        }
        return .queued(isFirst: parts.isEmpty)
    }

    /// Removes the first part, which was passed; returns the end if it is to be reported now.
    mutating func passedFirst() -> ExchangeEnd? {
        byteCount -= parts.removeFirst().length
        isHeldBack = false
        guard parts.isEmpty else { return nil }
        defer { end = nil }
        return end
    }

    /// Returns the end if it is to be reported now; keeps it if it has to wait for parts; ignores a second end.
    mutating func ended(_ end: ExchangeEnd) -> ExchangeEnd? {
        guard !hasEnded else { return nil }
        hasEnded = true
        if parts.isEmpty { return end }
        self.end = end
        return nil
    }
}
