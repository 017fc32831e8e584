/// A part of a body, as an engine has read it.
protocol BodyPart: Sendable {
    /// The number of bytes.
    var length: Int { get }

    /// Removes the first `length` bytes, and returns them.
    mutating func removeFirst(_ length: Int) -> Self

    /// Appends the bytes of the part that follows this one.
    mutating func append(_ part: Self)

    /// Returns a part with the same bytes that doesn't keep much more memory than they need.
    func compacted() -> Self
}

/// The parts of one exchange's body that wait to be passed to its handler, and the end after them.
///
/// A small part is passed on the thread where it arrives, which takes the least time. A large part means that the
/// server sends faster than the handler takes parts: it can be queued, so that the next part is read while this one is
/// written. Parts are also queued if they are longer than the handler accepts at once, or if the handler is not ready.
/// A part that arrives while another one is queued is queued too, whatever its size, so that the handler is called in
/// order and never concurrently.
struct PartQueue<Part: BodyPart>: Sendable {
    /// The decision about a part that has arrived.
    enum Decision: Equatable {
        /// The caller passes the part to the handler at once.
        case pass
        /// The part was queued; if it is the first one, the caller begins to pass the queued parts.
        case queued(isFirst: Bool)
    }

    /// The number of bytes from which a part is queued.
    let leastLength: Int
    /// The length up to which small parts are joined, because a server may send a body in chunks of one byte.
    let joinedLength: Int
    /// The number of bytes, waiting or being passed, from which the queue is full.
    var capacity: Int
    /// Whether the handler has received the last part and is not ready for another one.
    var isHeldBack = false

    private var waiting: [Part] = []
    /// The length of the part that is being passed, or after which the handler is not ready; nil if there is none.
    private var passing: Int?
    private var byteCount = 0
    /// Whether the queue counts as full until it is empty, so that the next part can be passed where it arrives.
    private var isDraining = false
    private var end: ExchangeEnd?
    private var hasEnded = false

    init(leastLength: Int, joinedLength: Int, capacity: Int) {
        self.leastLength = leastLength
        self.joinedLength = joinedLength
        self.capacity = capacity
    }

    /// Whether another part must not be read.
    var isFull: Bool { byteCount >= (isDraining && !isHeldBack ? 1 : capacity) }

    /// Lets the connection be read again before the queue is empty.
    mutating func stopDraining() { isDraining = false }

    private var isEmpty: Bool { passing == nil && waiting.isEmpty }

    /// Adds a part that has arrived, unless it should be passed at once.
    ///
    /// - Parameters:
    ///   - part: The part.
    ///   - longest: The largest number of bytes that the handler accepts at once; nil for any number.
    ///   - passesLarge: Whether a large part is also passed at once, unless another reason requires it to wait. If the
    ///     part has to wait for earlier ones, all of them are passed before the connection is read again.
    mutating func arrived(_ part: Part, longest: Int?, passesLarge: Bool = false) -> Decision {
        let isFirst = isEmpty
        let isTooLong = longest.map { part.length > $0 } ?? false
        guard !isFirst || isTooLong || !passesLarge && part.length >= leastLength else { return .pass }
        byteCount += part.length
        isDraining = passesLarge && !isTooLong
        if let last = waiting.indices.last, waiting[last].length + part.length <= joinedLength {
            waiting[last].append(part)
        } else {
            waiting.append(part.length < leastLength ? part.compacted() : part)
        }
        return .queued(isFirst: isFirst)
    }

    /// Records that the handler is not ready for another part after a part that was passed at once.
    mutating func heldBack(_ part: Part) {
        byteCount += part.length
        passing = part.length
        isHeldBack = true
    }

    /// Removes and returns the next part to pass, of at most `longest` bytes; nil if none waits.
    mutating func next(longest: Int?) -> Part? {
        guard let first = waiting.first else { return nil }
        let part: Part
        if let longest, longest < first.length {
            part = waiting[0].removeFirst(longest)
        } else {
            part = waiting.removeFirst()
        }
        passing = part.length
        return part
    }

    /// Records that the handler is ready for another part; returns whether one waits, and the end if it is due.
    mutating func passed() -> (hasNext: Bool, end: ExchangeEnd?) {
        byteCount -= passing ?? 0
        (passing, isHeldBack) = (nil, false)
        guard waiting.isEmpty else { return (true, nil) }
        isDraining = false
        defer { end = nil }
        return (false, end)
    }

    /// Removes the waiting parts of a canceled exchange.
    mutating func removeWaiting() {
        waiting = []
        byteCount = passing ?? 0
    }

    /// Records the end, and returns it if no part is left; otherwise, ``passed()`` returns it later.
    ///
    /// A second end is ignored.
    mutating func ended(_ end: ExchangeEnd) -> ExchangeEnd? {
        guard !hasEnded else { return nil }
        hasEnded = true
        if isEmpty { return end }
        self.end = end
        return nil
    }
}
