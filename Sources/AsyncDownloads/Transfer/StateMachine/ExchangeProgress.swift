/// What the state machine remembers of the exchange under way.
struct ExchangeProgress: Sendable {
    let number: Int
    let asked: RequestedRange
    /// Whether the bytes are compared with those that are there, and not written.
    let compares: Bool
    /// Where the next byte that arrives belongs.
    var position: Int64
    /// How many writes have begun and not ended.
    private(set) var pendingWriteCount = 0
    /// Whether a write has failed, after which no other one counts.
    private(set) var hasFailed = false
    /// One past the last byte that the head promised; nil while unknown.
    var end: Int64?
    /// Bytes at the body's beginning that are there already.
    var toSkip: Int64 = 0
    /// Whether more came than was promised.
    var overflowed = false
    /// When something last arrived, or was last written.
    var lastActivity: Duration
    /// For how long the server had brought nothing at the last look.
    private(set) var idleTime = Duration.zero
    /// When the last look was, and the callback time then.
    private var lastLook: (at: Duration, callbackTime: Duration)?
    /// The callback time at the last look before ``lastActivity``.
    private var callbackTimeBefore = Duration.zero
    /// When it was cancelled.
    var cancelledAt: Duration?
    /// The end, when the engine reports it while the store still makes room.
    var earlyEnd: ExchangeEnd?

    init(number: Int, asked: RequestedRange, compares: Bool = false, position: Int64, lastActivity: Duration) {
        self.number = number
        self.asked = asked
        self.compares = compares
        self.position = position
        self.lastActivity = lastActivity
    }

    /// Whether bytes are being written, so that the engine is held up.
    var isWriting: Bool { pendingWriteCount > 0 }

    /// `count` bytes are going to be written; answers where.
    mutating func beginWrite(_ count: Int64) -> Int64 {
        pendingWriteCount += 1
        defer { position += count }
        return position
    }

    /// A write has ended.
    mutating func endWrite() {
        pendingWriteCount -= 1
    }

    /// A write has failed.
    mutating func failWrite() {
        pendingWriteCount -= 1
        hasFailed = true
    }

    /// Finds out for how long the server has brought nothing, without the time that callbacks took meanwhile.
    ///
    /// The callback time is known at looks only. What passed between the look before the last activity and the activity
    /// itself is taken off as well, so that the result may be too small by that and is never too large.
    mutating func look(at now: Duration, callbackTime: Duration?) {
        // Unknown before the engine has handed the exchange over, and after its end.
        guard let callbackTime = callbackTime ?? lastLook?.callbackTime else {
            return idleTime = now - lastActivity
        }
        if let lastLook {
            if lastLook.at <= lastActivity { callbackTimeBefore = lastLook.callbackTime }
        } else {
            callbackTimeBefore = callbackTime
        }
        idleTime = max(.zero, now - lastActivity - (callbackTime - callbackTimeBefore))
        lastLook = (now, callbackTime)
    }
}
