#if ServerStack
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1

/// A delegate that passes AsyncHTTPClient's callbacks to the handler of one exchange.
///
/// The callbacks arrive in order on one event loop.
final class ExchangeDelegate: HTTPClientResponseDelegate {
    private struct State {
        var hasHead = false
        var hasEnded = false
    }

    private let handler: any ExchangeHandler
    private let clock: CallbackClock
    private let whenEnded: @Sendable () -> Void
    private let state = Mutex(State())

    /// Creates the delegate of one exchange.
    ///
    /// - Parameters:
    ///   - handler: The handler of the exchange.
    ///   - clock: The clock of the event loop on which the callbacks arrive.
    ///   - whenEnded: A closure that is called once, before the end is reported to the handler.
    init(handler: any ExchangeHandler, clock: CallbackClock, whenEnded: @escaping @Sendable () -> Void) {
        self.handler = handler
        self.clock = clock
        self.whenEnded = whenEnded
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.hasHead = true }
        let headers = HeaderFields(head.headers.map { (name: $0.name, value: $0.value) })
        let readiness = clock.measure {
            handler.exchangeReceivedHead(
                ResponseHead(status: StatusCode(Int(head.status.code)), headers: headers))
        }
        return future(readiness, on: task.eventLoop)
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let readiness = clock.measure { buffer.withUnsafeReadableBytes { handler.exchangeReceivedBytes($0) } }
        return future(readiness, on: task.eventLoop)
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        if let error = error as? HTTPClientError, error == .cancelled {
            end(.cancelled)
        } else {
            end(.failed(DownloadError(httpClient: error, hasHead: state.withLock { $0.hasHead })))
        }
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        end(.complete)
    }

    private func end(_ end: ExchangeEnd) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        guard isFirst else { return }
        whenEnded()
        clock.measure { handler.exchangeEnded(end) }
    }

    private func future(_ readiness: Readiness, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        switch readiness {
        case .ready:
            return eventLoop.makeSucceededVoidFuture()
        case .notYet(let gate):
            let promise = eventLoop.makePromise(of: Void.self)
            gate.onOpen { promise.succeed() }
            return promise.futureResult
        }
    }
}
#endif
