#if ServerStack
internal import AsyncHTTPClient
internal import Dispatch
internal import NIOCore
internal import NIOHTTP1

/// A delegate that passes AsyncHTTPClient's callbacks to the handler of one exchange.
///
/// Small parts of the body are passed on the event loop, and large ones on its delivery queue (``PartQueue``).
final class ExchangeDelegate: HTTPClientResponseDelegate {
    private struct State {
        var hasHead = false
        var parts = PartQueue<ByteBuffer>(leastLength: readLength / 2, capacity: 3)
        /// Whether the event loop waits for room in the queue.
        var isWaiting = false
        /// The promise that lets the connection be read again, if the queue is full and held back.
        var room: EventLoopPromise<Void>?
    }

    /// The number of bytes that are read from a connection at a time.
    static let readLength = 256 << 10

    private let handler: any ExchangeHandler
    private let loop: DeliveryLoop
    private let whenEnded: @Sendable () -> Void
    private let state = Mutex(State())
    private let room = DispatchSemaphore(value: 0)

    /// Creates the delegate of one exchange.
    ///
    /// - Parameters:
    ///   - handler: The handler of the exchange.
    ///   - loop: The event loop on which the callbacks arrive, with its delivery queue.
    ///   - whenEnded: A closure that is called once, before the end is reported to the handler.
    init(handler: any ExchangeHandler, loop: DeliveryLoop, whenEnded: @escaping @Sendable () -> Void) {
        self.handler = handler
        self.loop = loop
        self.whenEnded = whenEnded
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.hasHead = true }
        let headers = HeaderFields(head.headers.map { (name: $0.name, value: $0.value) })
        let readiness = loop.clock.measure {
            handler.exchangeReceivedHead(
                ResponseHead(status: StatusCode(Int(head.status.code)), headers: headers))
        }
        return future(readiness)
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let decision = state.withLock { $0.parts.arrived(buffer, length: buffer.readableBytes) }
        guard case .queued(let isFirst) = decision else { return future(pass(buffer)) }
        if isFirst { passFirstOnQueue() }
        return waitForRoom()
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        if let error = error as? HTTPClientError, error == .cancelled {
            ended(.cancelled)
        } else {
            ended(.failed(DownloadError(httpClient: error, hasHead: state.withLock { $0.hasHead })))
        }
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        ended(.complete)
    }

    private func pass(_ part: ByteBuffer) -> Readiness {
        loop.clock.measure { part.withUnsafeReadableBytes { handler.exchangeReceivedBytes($0) } }
    }

    /// Passes the first queued part to the handler, and then the next ones.
    ///
    /// Each part is enqueued separately, so that the exchanges of one queue take turns.
    private func passFirstOnQueue() {
        loop.queue.async { [self] in
            guard let part = state.withLock({ $0.parts.first }) else { return }
            switch pass(part) {
            case .ready: passedFirst()
            case .notYet(let gate):
                state.withLock { $0.parts.isHeldBack = true }
                endWait()
                gate.onOpen { [self] in passedFirst() }
            }
        }
    }

    private func passedFirst() {
        let (hasNext, end, promise) = state.withLock { state in
            let end = state.parts.passedFirst()
            defer { state.room = nil }
            return (state.parts.first != nil, end, state.room)
        }
        promise?.succeed()
        endWait()
        if hasNext { passFirstOnQueue() }
        if let end {
            // The gate may have been opened by a call that holds a lock of the transfer.
            loop.queue.async { [self] in report(end) }
        }
    }

    /// Blocks the event loop until the queue has room, which takes as long as a write.
    ///
    /// A future that is not fulfilled would not block it. But if the connection ends in the meantime, NIO reads its
    /// remaining bytes despite the back-pressure, and AsyncHTTPClient drops them. Such a future is therefore used only if
    /// the handler holds the exchange back, which may take longer.
    private func waitForRoom() -> EventLoopFuture<Void> {
        let waits = state.withLock { state in
            state.isWaiting = state.parts.isFull && !state.parts.isHeldBack
            return state.isWaiting
        }
        if waits { room.wait() }
        let promise = state.withLock { state in
            if state.parts.isFull { state.room = loop.eventLoop.makePromise() }
            return state.room
        }
        return promise?.futureResult ?? loop.eventLoop.makeSucceededVoidFuture()
    }

    private func endWait() {
        let isWaiting = state.withLock { state in
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if isWaiting { room.signal() }
    }

    private func ended(_ end: ExchangeEnd) {
        if let end = state.withLock({ $0.parts.ended(end) }) { report(end) }
    }

    private func report(_ end: ExchangeEnd) {
        whenEnded()
        loop.clock.measure { handler.exchangeEnded(end) }
    }

    private func future(_ readiness: Readiness) -> EventLoopFuture<Void> {
        switch readiness {
        case .ready:
            return loop.eventLoop.makeSucceededVoidFuture()
        case .notYet(let gate):
            let promise = loop.eventLoop.makePromise(of: Void.self)
            gate.onOpen { promise.succeed() }
            return promise.futureResult
        }
    }
}
#endif
