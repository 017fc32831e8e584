#if ServerStack
internal import Dispatch
internal import NIOCore

/// The delivery of one exchange's events to its handler.
///
/// The connection passes the events on its event loop, and never waits: what the handler isn't ready for is kept in a
/// ``PartQueue``, and the connection isn't read while the queue is full. If the peer closes a connection that is held
/// back, NIO reads all that the system has received, and the queue keeps these bytes and the end behind them.
///
/// Parts are delivered on the event loop, where their bytes are in the processor's cache, unless the handler is slow, has
/// a bandwidth limit, or the loop has another large body to read. Then they are delivered on the loop's queue. The end is
/// reported on the event loop when no callback is in progress.
final class ExchangeDelivery: Sendable {
    private struct State {
        var parts: PartQueue<ByteBuffer>
        var speed = HandlerSpeed()
        /// Whether the exchange counts as one with a large body.
        var isLarge = false
        /// What lets the connection be read again; nil unless its reads are held back.
        var resumption: (@Sendable () -> Void)?
    }

    /// The number of bytes from which a part is large.
    private static let largeLength = 128 << 10
    /// The number of bytes that a slow handler takes at once.
    private static let slowLength = 128 << 10
    /// The number of queued bytes at which a connection isn't read.
    private static let capacity = 768 << 10
    /// The same with a bandwidth limit, with which the queue is always full.
    private static let limitedCapacity = 256 << 10

    private let handler: any ExchangeHandler
    /// The buffers that parts are read into; nil with TLS, because NIOSSL uses the buffers of its parts again.
    private let buffers: ReadBuffers?
    private let loop: DeliveryLoop
    private let whenEnded: @Sendable () -> Void
    private let state: Mutex<State>
    /// Measures the time in which parts of this exchange are queued.
    private let queueClock = CallbackClock()

    /// Creates the delivery of one exchange.
    ///
    /// - Parameters:
    ///   - handler: The handler of the exchange.
    ///   - isSecure: Whether the exchange uses TLS.
    ///   - loop: The event loop of the exchange, with its delivery queue.
    ///   - whenEnded: A closure that is called once, before the end is reported to the handler.
    init(
        handler: any ExchangeHandler, isSecure: Bool, loop: DeliveryLoop, whenEnded: @escaping @Sendable () -> Void
    ) {
        state = Mutex(
            State(
                parts: PartQueue(
                    leastLength: isSecure ? .max : Self.largeLength, joinedLength: ReadBuffers.length,
                    capacity: Self.capacity)))
        self.handler = handler
        buffers = isSecure ? nil : loop.buffers
        self.loop = loop
        self.whenEnded = whenEnded
    }

    /// The time in which the exchange could not receive anything because its thread or its handler was busy.
    ///
    /// Time in which both were busy counts twice.
    var callbackTime: Duration { loop.clock.time + queueClock.time }

    /// Delivers the head; called on the event loop.
    func receivedHead(_ head: ResponseHead) {
        guard case .notYet(let gate) = loop.clock.measure({ handler.exchangeReceivedHead(head) }) else { return }
        hold(ByteBuffer(), until: gate)
    }

    /// Delivers or queues a part; called on the event loop.
    func receivedPart(_ part: ByteBuffer) {
        let longest = handler.longestPart
        if part.readableBytes >= Self.largeLength { countLargeBody() }
        let decision = state.withLock { state in
            state.parts.capacity = longest == nil ? Self.capacity : Self.limitedCapacity
            return state.parts.arrived(part, longest: longest, passesLarge: isBestOnLoop(state.speed))
        }
        switch decision {
        case .pass:
            guard case .notYet(let gate) = loop.clock.measure({ pass(part) }) else { return }
            hold(part, until: gate)
        case .queued(isFirst: true):
            queueClock.begin()
            passNext()
        case .queued(isFirst: false):
            break
        }
    }

    /// Reports the end, after the parts in front of it; called on the event loop, outside of the handler's callbacks.
    ///
    /// A canceled exchange ends without the parts that wait.
    func ended(_ end: ExchangeEnd) {
        let end = state.withLock { state in
            if case .cancelled = end { state.parts.removeWaiting() }
            return state.parts.ended(end)
        }
        if let end { report(end) }
    }

    /// Returns whether the connection must not be read now; `resumption` is then called once, when it may be read again.
    func holdsReads(until resumption: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.parts.isFull else { return false }
            state.resumption = resumption
            return true
        }
    }

    /// Keeps the place of an event until its gate opens, on whatever thread.
    private func hold(_ part: ByteBuffer, until gate: Gate) {
        state.withLock { $0.parts.heldBack(part) }
        queueClock.begin()
        gate.onOpen { [self] in passed() }
    }

    private func isBestOnLoop(_ speed: HandlerSpeed) -> Bool { !speed.isSlow && loop.largeBodyCount <= 1 }

    /// Passes the next queued part to the handler, and then those behind it.
    ///
    /// Each part is enqueued separately, so that exchanges take turns, and because a gate may be opened inside a callback.
    private func passNext() {
        let limit = handler.longestPart
        if limit == nil, state.withLock({ isBestOnLoop($0.speed) }) {
            loop.eventLoop.execute { [self] in passNow(limit, measuredBy: loop.clock) }
        } else {
            loop.queue.async { [self] in passNow(limit, measuredBy: nil) }
        }
    }

    private func passNow(_ limit: Int?, measuredBy clock: CallbackClock?) {
        let part = state.withLock { state in
            state.parts.next(longest: state.speed.isSlow ? min(limit ?? .max, Self.slowLength) : limit)
        }
        // The exchange was canceled, and has ended.
        guard let part else { return queueClock.end() }
        switch clock?.measure({ pass(part) }) ?? pass(part) {
        case .ready: passed()
        case .notYet(let gate):
            state.withLock { $0.parts.isHeldBack = true }
            gate.onOpen { [self] in passed() }
        }
    }

    /// Passes a part to the handler, and keeps its memory for another read.
    private func pass(_ part: ByteBuffer) -> Readiness {
        let start = part.readableBytes >= Self.largeLength ? ContinuousClock.now : nil
        let readiness = part.withUnsafeReadableBytes { handler.exchangeReceivedBytes($0) }
        buffers?.recycle(part)
        if let start {
            let time = ContinuousClock.now - start
            state.withLock { $0.speed.took(time, for: part.readableBytes) }
        }
        return readiness
    }

    /// Continues when the handler is ready for another event.
    private func passed() {
        let (hasNext, end, resumption) = state.withLock { state in
            let (hasNext, end) = state.parts.passed()
            return (hasNext, end, state.parts.isFull ? nil : state.resumption.take())
        }
        if hasNext { passNext() } else { queueClock.end() }
        // Enqueued, because the gate may have been opened inside a callback.
        if let end { loop.eventLoop.execute { [self] in report(end) } }
        resumption?()
    }

    /// Counts this exchange as one with a large body, once.
    private func countLargeBody() {
        let isFirst = state.withLock { state in
            defer { state.isLarge = true }
            return !state.isLarge
        }
        if isFirst { loop.beginLargeBody() }
    }

    private func report(_ end: ExchangeEnd) {
        whenEnded()
        if state.withLock(\.isLarge) { loop.endLargeBody() }
        loop.clock.measure { handler.exchangeEnded(end) }
    }
}
#endif
