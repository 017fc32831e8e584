#if ServerStack
internal import Dispatch
internal import NIOCore
internal import NIOHTTP1

/// The delivery of one exchange's events to its handler.
///
/// The connection passes the events on its event loop, and is never blocked: parts that the handler can't take yet are
/// queued in a ``PartQueue``, and the connection isn't read while the queue is full. If the peer closes a connection
/// that is held back, NIO reads all bytes that the system has received, and the queue keeps these bytes and the end
/// after them.
///
/// Parts are delivered on the event loop, where their bytes are in the processor's cache. If the handler is slow or has
/// a bandwidth limit, or if the loop has another large body to read, large parts are delivered on the loop's queue. The
/// end is reported on the event loop when no callback is in progress.
final class ExchangeDelivery: Sendable {
    private struct State {
        var parts: PartQueue<ByteBuffer>
        /// The closure that resumes reading the connection; nil unless its reads are held back.
        var resumption: (@Sendable () -> Void)?
    }

    private let calls: HandlerCalls
    private let loop: DeliveryLoop
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
        calls = HandlerCalls(handler: handler, isSecure: isSecure, loop: loop, whenEnded: whenEnded)
        state = Mutex(State(parts: HandlerCalls.makeQueue(isSecure: isSecure)))
        self.loop = loop
    }

    /// The time in which the exchange could not receive anything because its thread or its handler was busy.
    ///
    /// Time in which both were busy is counted twice.
    var callbackTime: Duration { loop.clock.time + queueClock.time }

    /// Reports the connection; called on the event loop.
    func started(isReused: Bool) {
        calls.pass(ExchangeConnection(isReused: isReused, protocolName: "http/1.1"))
    }

    /// Delivers the head; called on the event loop.
    func receivedHead(_ head: HTTPResponseHead) {
        guard case .notYet(let gate) = calls.pass(head) else { return }
        hold(ByteBuffer(), until: gate)
    }

    /// Delivers or queues a part; called on the event loop.
    func receivedPart(_ part: ByteBuffer) {
        let longest = calls.longestPart
        calls.countIfLarge(part)
        switch state.withLock({ calls.arrived(part, longest: longest, in: &$0.parts) }) {
        case .pass:
            guard case .notYet(let gate) = loop.clock.measure({ calls.pass(part) }) else { return }
            hold(part, until: gate)
        case .queued(isFirst: true):
            queueClock.begin()
            passNext()
        case .queued(isFirst: false):
            break
        }
    }

    /// Reports the end, after the parts before it; called on the event loop, outside the handler's callbacks.
    ///
    /// The waiting parts of a canceled exchange are dropped.
    func ended(_ end: ExchangeEnd) {
        let end = state.withLock { state in
            if case .cancelled = end { state.parts.removeWaiting() }
            return state.parts.ended(end)
        }
        if let end { calls.report(end) }
    }

    /// Returns whether the connection must not be read now; if so, `resumption` is called once, when it may be read
    /// again.
    func holdsReads(until resumption: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.parts.isFull else { return false }
            state.resumption = resumption
            return true
        }
    }

    /// Holds later events back until the gate opens, which may happen on any thread.
    private func hold(_ part: ByteBuffer, until gate: Gate) {
        state.withLock { $0.parts.heldBack(part) }
        queueClock.begin()
        gate.onOpen { [self] in passed() }
    }

    /// Passes the queued parts to the handler, one after the other.
    ///
    /// Each part is enqueued separately, so that exchanges take turns, and because a gate may be opened inside a
    /// callback.
    private func passNext() {
        let longest = calls.longestPart
        if longest == nil, calls.shouldPassOnLoop {
            loop.eventLoop.execute { [self] in passNow(longest, measuredBy: loop.clock) }
        } else {
            loop.queue.async { [self] in passNow(longest, measuredBy: nil) }
        }
    }

    private func passNow(_ longest: Int?, measuredBy clock: CallbackClock?) {
        let longest = calls.longestQueuedPart(longest)
        // No part waits because the exchange was canceled.
        guard let part = state.withLock({ $0.parts.next(longest: longest) }) else { return queueClock.end() }
        switch clock?.measure({ calls.pass(part) }) ?? calls.pass(part) {
        case .ready: passed()
        case .notYet(let gate):
            state.withLock { $0.parts.isHeldBack = true }
            gate.onOpen { [self] in passed() }
        }
    }

    /// Continues when the handler is ready for another event.
    private func passed() {
        let (hasNext, end, resumption) = state.withLock { state in
            let (hasNext, end) = state.parts.passed()
            return (hasNext, end, state.parts.isFull ? nil : state.resumption.take())
        }
        if hasNext { passNext() } else { queueClock.end() }
        // The report is enqueued, because the gate may have been opened inside a callback.
        if let end { loop.eventLoop.execute { [calls] in calls.report(end) } }
        resumption?()
    }
}
#endif
