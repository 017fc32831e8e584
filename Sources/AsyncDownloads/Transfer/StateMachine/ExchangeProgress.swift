/// The state of one exchange, from its request until its end.
struct ExchangeProgress: Sendable {
    /// A change of the partial file between a head and its body.
    enum Preparation: Sendable, Hashable {
        /// An empty partial file is started for this representation before the head's callback returns.
        ///
        /// Creating a file is fast, and engines discard buffered bytes if a connection breaks while its body is held
        /// back. The body is therefore held back only if existing bytes have to be removed first, which may take long.
        case starting(Representation)
        /// The store removes the bytes of another representation, or records the continuation; the body is held back.
        case store
    }

    /// The phase of an exchange.
    enum Phase: Sendable {
        /// The request was sent, and no head was accepted. Continues with `proposed`, `preparing`, or `receiving`.
        case connecting
        /// The subscribers have not accepted the head yet, and the body is held back; the exchange may already have
        /// ended. Continues with `connecting`, where the head is handled.
        case proposed(ResponseHead, end: ExchangeEnd?)
        /// A head was accepted, but the body doesn't flow yet. Continues with `receiving` or `endedEarly`.
        case preparing(Preparation)
        /// The exchange ended while the store was preparing. Its bytes still count, and the end is handled afterward.
        case endedEarly(ExchangeEnd)
        /// The body is arriving.
        case receiving
    }

    let request: RequestedRange
    /// Whether the bytes are compared with the bytes on disk instead of written.
    let compares: Bool
    /// Whether the request was sent while another exchange received; see ``ExtraExchanges``.
    let isExtra: Bool
    /// The bytes that were requested, up to the end of the object; nil if they are only compared.
    let range: Range<Int64>?
    /// The time at which the request was sent, or at which the engine got a network connection for it.
    private(set) var sentAt: Duration
    private(set) var phase = Phase.connecting
    /// The position of the next byte that arrives.
    private(set) var position: Int64
    /// One past the last byte that the head announced; nil while unknown.
    private(set) var end: Int64?
    /// The bytes that the exchange has written.
    private(set) var written = IntervalSet()
    /// The number of bytes at the start of the body that are already on disk.
    private var skippedCount: Int64 = 0
    /// Whether the engine is waiting for a network connection.
    private(set) var isWaitingForConnectivity = false
    /// Whether more bytes have arrived than were promised or allowed.
    private(set) var hasOverflowed = false
    /// The number of writes and comparisons in progress.
    private var pendingWriteCount = 0
    /// The bytes that are being written.
    private(set) var writes: [Range<Int64>] = []
    /// Whether a write has failed, after which no other write counts.
    private(set) var hasFailed = false
    /// The time at which the exchange was canceled.
    private(set) var canceledAt: Duration?
    /// The time at which bytes last arrived or were last written.
    private(set) var lastActivity: Duration
    /// The time for which the server had sent nothing, as of the last check.
    private(set) var idleTime = Duration.zero
    /// The rate at which the body arrives.
    private(set) var rate = ConnectionRate()
    /// The time of the last check, and the callback time at that check.
    private var lastCheck: (at: Duration, callbackTime: Duration)?
    /// The callback time at the last check before ``lastActivity``.
    private var callbackTimeBefore = Duration.zero

    /// - Parameter length: The length of the object; nil while it is unknown.
    init(
        request: RequestedRange, compares: Bool = false, isExtra: Bool = false, length: Int64? = nil, at now: Duration
    ) {
        self.request = request
        self.compares = compares
        self.isExtra = isExtra
        let end = request.range?.last.map { $0 + 1 } ?? length ?? .max
        range = compares ? nil : request.start..<max(end, request.start)
        position = request.start
        (sentAt, lastActivity) = (now, now)
    }

    /// Whether the exchange is expected to receive bytes, and no head was accepted.
    var isRequested: Bool { if case .connecting = phase { range != nil && !isCanceled } else { false } }

    /// Whether bytes are being written, so that the engine is held back.
    var isWriting: Bool { pendingWriteCount > 0 }

    /// Whether the exchange was canceled.
    var isCanceled: Bool { canceledAt != nil }

    /// Whether the body flows.
    var isReceiving: Bool { if case .receiving = phase { true } else { false } }

    /// Whether the body is held back until the store is ready.
    var isHeldBack: Bool {
        switch phase {
        case .proposed, .preparing, .endedEarly: true
        case .connecting, .receiving: false
        }
    }

    /// Whether the end was reported.
    var hasEnded: Bool {
        switch phase {
        case .endedEarly, .proposed(_, end: _?): true
        case .connecting, .proposed, .preparing, .receiving: false
        }
    }
}

// MARK: - Phases

extension ExchangeProgress {
    /// Accepts a head whose body continues the bytes on disk, up to `end` and without its first `skipped` bytes.
    mutating func accept(skipping skipped: Int64, end: Int64?, preparation: Preparation? = nil) {
        skippedCount = skipped
        self.end = end
        phase = preparation.map { .preparing($0) } ?? .receiving
        isWaitingForConnectivity = false
    }

    /// Records that the engine is sending the request now, because it has got a network connection.
    mutating func connected(at now: Duration) {
        if case .connecting = phase { sentAt = now }
    }

    /// Records whether the engine is waiting for a network connection, during which the server isn't considered idle.
    ///
    /// - Returns: Whether the value has changed.
    mutating func setWaiting(_ isWaiting: Bool, at now: Duration) -> Bool {
        guard case .connecting = phase, !isCanceled, isWaitingForConnectivity != isWaiting else { return false }
        isWaitingForConnectivity = isWaiting
        lastActivity = now
        return true
    }

    /// Keeps a head until the subscribers have accepted or refused it.
    mutating func propose(_ head: ResponseHead) {
        phase = .proposed(head, end: nil)
        isWaitingForConnectivity = false
    }

    /// Returns the head that the subscribers have accepted, to be handled now, and the end if it was reported.
    mutating func takeProposed() -> (head: ResponseHead, end: ExchangeEnd?)? {
        guard case .proposed(let head, let end) = phase else { return nil }
        phase = .connecting
        return (head, end)
    }

    /// Accepts a head whose body is the start of a new representation.
    mutating func acceptWhole(end: Int64?, preparation: Preparation) {
        position = 0
        accept(skipping: 0, end: end, preparation: preparation)
    }

    /// Lets the body flow, and returns the end if it was already reported.
    mutating func prepared(at now: Duration) -> ExchangeEnd? {
        var end: ExchangeEnd?
        if case .endedEarly(let early) = phase { end = early }
        phase = .receiving
        lastActivity = now
        return end
    }

    /// Stores the end until the store is ready, or until the subscribers have accepted the head.
    mutating func endEarly(_ end: ExchangeEnd) {
        if case .proposed(let head, _) = phase {
            phase = .proposed(head, end: end)
        } else {
            phase = .endedEarly(end)
        }
    }

    mutating func cancel(at now: Duration) {
        if canceledAt == nil { canceledAt = now }
        isWaitingForConnectivity = false
    }
}

// MARK: - Bytes

extension ExchangeProgress {
    /// A part of the arrived bytes, with its position in the file.
    struct Part: Sendable, Hashable {
        /// The number of bytes to skip before the part.
        var skipped: Int
        var count: Int
        var offset: Int64
    }

    /// Takes `count` bytes that have arrived, and returns the part to write or compare.
    ///
    /// Rule 30: bytes beyond the promised end or beyond `limit` don't count.
    mutating func receive(_ count: Int, limit: Int64?, at now: Duration) -> Part {
        lastActivity = now
        let skipped = min(Int64(count), skippedCount)
        skippedCount -= skipped
        var wanted = Int64(count) - skipped
        let room = max(0, min(end ?? .max, compares ? .max : limit ?? .max) - position)
        if wanted > room {
            wanted = room
            hasOverflowed = true
        }
        defer { position += wanted }
        return Part(skipped: Int(skipped), count: Int(wanted), offset: position)
    }

    /// Records that parts of the bytes that have arrived are being written.
    ///
    /// If there are no parts, an empty part is reported instead, which may show that the exchange has delivered too
    /// much.
    mutating func beginWrites(_ parts: [Range<Int64>]) {
        writes += parts
        pendingWriteCount += max(1, parts.count)
    }

    /// Records that a part is being compared.
    mutating func beginComparison() {
        pendingWriteCount += 1
    }

    /// Records that a part was written.
    mutating func finishWrite(_ range: Range<Int64>, at now: Duration) {
        written.insert(range)
        writes.removeAll { $0 == range }
        finishComparison(at: now)
    }

    /// Records that a part was compared.
    mutating func finishComparison(at now: Duration) {
        pendingWriteCount -= 1
        lastActivity = now
    }

    /// Records that a part could not be written, after which no other write counts.
    mutating func failWrite() {
        pendingWriteCount -= 1
        (hasFailed, writes) = (true, [])
    }

    /// Returns whether the body has ended before everything that its head promised.
    func isPremature(_ ending: ExchangeEnd) -> Bool {
        guard case .complete = ending else { return true }
        return end.map { position < $0 } ?? false
    }

    /// Whether more bytes have arrived than the head promised.
    var exceedsPromise: Bool { hasOverflowed && end.map { position >= $0 } ?? false }
}

// MARK: - Idle time

extension ExchangeProgress {
    /// Records activity without bytes, because a callback of the exchange is still in progress.
    mutating func keepAlive(at now: Duration) {
        lastActivity = now
        rate.heldBack()
    }

    /// Determines how long the server has sent nothing, not counting the time spent in callbacks.
    ///
    /// The callback time is known only at checks. The callback time between the last activity and the check before it
    /// is subtracted as well, so the result may be too small by that time, but is never too large.
    mutating func check(at now: Duration, callbackTime: Duration?) {
        if isReceiving, !compares {
            let time = callbackTime ?? lastCheck?.callbackTime ?? .zero
            rate.check(position: position, callbackTime: time, at: now)
        }
        // The callback time is unknown before the engine has returned the exchange, and after the exchange has ended.
        guard let callbackTime = callbackTime ?? lastCheck?.callbackTime else {
            return idleTime = now - lastActivity
        }
        if let lastCheck {
            if lastCheck.at <= lastActivity { callbackTimeBefore = lastCheck.callbackTime }
        } else {
            callbackTimeBefore = callbackTime
        }
        idleTime = max(.zero, now - lastActivity - (callbackTime - callbackTimeBefore))
        lastCheck = (now, callbackTime)
    }
}
