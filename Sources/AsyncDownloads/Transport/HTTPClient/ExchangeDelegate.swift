#if ServerStack
internal import AsyncHTTPClient
internal import Dispatch
internal import NIOCore
internal import NIOHTTP1

/// A delegate that passes AsyncHTTPClient's callbacks to the handler of one exchange.
///
/// Small parts of the body are passed on the event loop. Large parts are also passed there while the loop has no other
/// large body to read and the handler is fast: a part that another thread writes has to be loaded into that processor's
/// cache, and the thread has to be resumed, which took 40 percent more processor time. Otherwise, large parts are
/// passed on the loop's delivery queue (``PartQueue``), like all parts for which the handler isn't ready. With TLS,
/// large parts are always passed on the event loop: decryption limits the rate, and a second thread took 10 MiB of
/// memory without being faster on two processors.
final class ExchangeDelegate: HTTPClientResponseDelegate {
    private struct State {
        /// Whether the head of the request was sent, so that a connection exists.
        var isConnected = false
        var hasHead = false
        var parts: PartQueue<ByteBuffer>
        /// Whether the event loop is blocked until the queue has room.
        var isWaiting = false
        /// The semaphore on which the event loop waits; nil until it waits for the first time.
        var signal: DispatchSemaphore?
        /// The promise that lets the connection be read again; nil unless ``waitForRoom()`` has returned its future.
        var room: EventLoopPromise<Void>?
    }

    /// The number of bytes of each read from a connection with TLS, where a read takes more time.
    static let secureReadLength = 1 << 20

    private let calls: HandlerCalls
    private let loop: DeliveryLoop
    private let longestBlock: Duration
    private let state: Mutex<State>
    /// Measures the time in which parts of this exchange are queued.
    private let queueClock = CallbackClock()

    /// Creates the delegate of one exchange.
    ///
    /// - Parameters:
    ///   - handler: The handler of the exchange.
    ///   - isSecure: Whether the exchange uses TLS.
    ///   - loop: The event loop on which the callbacks arrive, with its delivery queue.
    ///   - longestBlock: The maximum time for which the event loop is blocked until the handler takes a part.
    ///   - whenEnded: A closure that is called once, before the end is reported to the handler.
    init(
        handler: any ExchangeHandler, isSecure: Bool, loop: DeliveryLoop, longestBlock: Duration,
        whenEnded: @escaping @Sendable () -> Void
    ) {
        calls = HandlerCalls(handler: handler, isSecure: isSecure, loop: loop, whenEnded: whenEnded)
        state = Mutex(State(parts: HandlerCalls.makeQueue(isSecure: isSecure)))
        self.loop = loop
        self.longestBlock = longestBlock
    }

    /// The time in which the exchange could not receive anything because its thread or its handler was busy.
    ///
    /// Time in which both were busy is counted twice.
    var callbackTime: Duration { loop.clock.time + queueClock.time }

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        state.withLock { $0.isConnected = true }
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.hasHead = true }
        switch calls.pass(head) {
        case .ready:
            return loop.eventLoop.makeSucceededVoidFuture()
        case .notYet(let gate):
            let promise = loop.eventLoop.makePromise(of: Void.self)
            gate.onOpen { promise.succeed() }
            return promise.futureResult
        }
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let longest = calls.longestPart
        calls.countIfLarge(buffer)
        switch state.withLock({ calls.arrived(buffer, longest: longest, in: &$0.parts) }) {
        case .pass:
            let readiness = loop.clock.measure { calls.pass(buffer) }
            guard case .notYet(let gate) = readiness else { break }
            state.withLock { $0.parts.heldBack(buffer) }
            queueClock.begin()
            gate.onOpen { [self] in passed() }
        case .queued(isFirst: true):
            queueClock.begin()
            passNextOnQueue()
        case .queued(isFirst: false):
            break
        }
        return waitForRoom()
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        if let error = error as? HTTPClientError, error == .cancelled {
            ended(state.withLock(\.isConnected) ? .cancelled : .cancelledWhileConnecting)
        } else {
            ended(.failed(DownloadError(httpClient: error, hasHead: state.withLock { $0.hasHead })))
        }
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        ended(.complete)
    }

    /// Passes the queued parts to the handler, one after the other.
    ///
    /// Each part is enqueued separately, so that the exchanges of one queue take turns.
    private func passNextOnQueue() {
        loop.queue.async { [self] in
            // The event loop may be waiting for this part, so a slow handler receives short parts.
            let longest = calls.longestQueuedPart(calls.longestPart)
            guard let part = state.withLock({ $0.parts.next(longest: longest) }) else { return }
            switch calls.pass(part) {
            case .ready: passed()
            case .notYet(let gate):
                endWait { $0.parts.isHeldBack = true }
                gate.onOpen { [self] in passed() }
            }
        }
    }

    /// Continues when the handler is ready for another part.
    private func passed() {
        let (hasNext, end, promise) = endWait { state in
            let (hasNext, end) = state.parts.passed()
            return (hasNext, end, state.parts.isFull ? nil : state.room.take())
        }
        if hasNext { passNextOnQueue() } else { queueClock.end() }
        // The end is reported on the queue that passed the parts before it, even if another thread opened a gate.
        if let end { loop.queue.async { [calls] in calls.report(end) } }
        // On the event loop, this may deliver the next part, which is then queued behind the waiting parts.
        promise?.succeed()
    }

    /// Waits until the queue has room, and blocks the event loop for up to ``longestBlock`` at a time.
    ///
    /// Returning an unfulfilled future would not block the event loop. But if the connection is lost before the future
    /// is fulfilled, NIO reads the remaining bytes despite the back-pressure, and AsyncHTTPClient drops them. An
    /// unfulfilled future is therefore returned only if the handler holds the exchange back or a disk is slow.
    private func waitForRoom() -> EventLoopFuture<Void> {
        var isSlow = false
        while true {
            let (signal, promise) = state.withLock { state -> (DispatchSemaphore?, EventLoopPromise<Void>?) in
                // The handler is slow, so the loop doesn't wait for an empty queue, only for one below its capacity.
                if isSlow { state.parts.stopDraining() }
                guard state.parts.isFull else { return (nil, nil) }
                if state.parts.isHeldBack || isSlow {
                    state.room = loop.eventLoop.makePromise()
                    return (nil, state.room)
                }
                state.isWaiting = true
                let signal = state.signal ?? DispatchSemaphore(value: 0)
                state.signal = signal
                return (signal, nil)
            }
            guard let signal else { return promise?.futureResult ?? loop.eventLoop.makeSucceededVoidFuture() }
            isSlow = loop.clock.measure { !wait(for: signal) }
        }
    }

    /// Waits for the end of ``State/isWaiting``; returns false after ``longestBlock``.
    private func wait(for signal: DispatchSemaphore) -> Bool {
        let limit = DispatchTimeInterval.nanoseconds(Int(longestBlock / .nanoseconds(1)))
        if signal.wait(timeout: .now() + limit) == .success { return true }
        let isEnding = state.withLock { state in
            defer { state.isWaiting = false }
            return !state.isWaiting
        }
        // The signal that follows must not end a later wait.
        if isEnding { signal.wait() }
        return isEnding
    }

    /// Changes the queue, and wakes the event loop, if it is blocked, to check for room again.
    private func endWait<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
        let (value, signal) = state.withLock { state in
            defer { state.isWaiting = false }
            return (change(&state), state.isWaiting ? state.signal : nil)
        }
        signal?.signal()
        return value
    }

    private func ended(_ end: ExchangeEnd) {
        if let end = state.withLock({ $0.parts.ended(end) }) { calls.report(end) }
    }
}
#endif
