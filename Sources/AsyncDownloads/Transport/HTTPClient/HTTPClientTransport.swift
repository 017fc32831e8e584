#if ServerStack
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The engine on AsyncHTTPClient: bytes are handed on in the event loop's callback, in parts of up to 1 MiB, and the
/// future that the callback returns holds the connection back.
package final class HTTPClientTransport: Transport {
    private enum Client {
        case notMade
        case made(HTTPClient)
        case shutDown
    }

    private let configuration: HTTPClient.Configuration
    private let state = Mutex(Client.notMade)

    /// - Parameter connectTimeout: How long a connection may take to be made.
    package init(connectTimeout: Duration = .seconds(30)) {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .nanoseconds(Int64(connectTimeout / .nanoseconds(1)))),
            decompression: .disabled)
        // Bulk bodies over HTTP/2 come in small frames, and share one window.
        configuration.httpVersion = .http1Only
        // The retry policy is the place for it: the pool's own retries hide a refused connection until the timeout.
        configuration.connectionPool.retryConnectionEstablishment = false
        // The scheduler bounds connections; the pool must not do it a second time.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
        configuration.http1_1ConnectionDebugInitializer = { channel in
            // Large reads are what makes the engine fast: fewer system calls, and one write a part. One read at a time:
            // each costs memory, and what is read in one turn with the end of the connection may not be delivered.
            channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 1 << 20))
                .flatMap { channel.setOption(.maxMessagesPerRead, value: 1) }
        }
        self.configuration = configuration
    }

    deinit {
        // Nothing runs any more, since every transfer holds its engine.
        if case .made(let client) = state.withLock({ $0 }) { client.shutdown { _ in } }
    }

    package var windowLength: Int64? { nil }
    package var decodesContent: Bool { false }

    package func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
        var headers = HTTPHeaders()
        for field in request.headers { headers.add(name: field.name, value: field.value) }
        do {
            let clientRequest = try HTTPClient.Request(url: request.url, method: .GET, headers: headers)
            let task = try client().execute(request: clientRequest, delegate: ExchangeDelegate(handler: handler))
            return HTTPClientExchange(task: task)
        } catch {
            handler.exchangeEnded(.failed(DownloadError(httpClient: error, hasHead: false)))
            return FailedExchange()
        }
    }

    package func shutdown() async {
        let client = state.withLock { state in
            defer { state = .shutDown }
            return state
        }
        // Nobody could do anything about a connection that does not close well.
        if case .made(let client) = client { try? await client.shutdown() }
    }

    /// The client, made when it is first needed.
    private func client() throws -> HTTPClient {
        try state.withLock { state in
            switch state {
            case .made(let client): return client
            case .shutDown: throw DownloadError(.shutDown)
            case .notMade: break
            }
            // Each of NIO's threads opens three descriptors, and ends the process where it cannot.
            let count = 3 * NIOSingletons.groupLoopCountSuggestion + 1
            if let shortage = DescriptorShortage.error(opening: count) { throw shortage }
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            state = .made(client)
            return client
        }
    }
}

private struct HTTPClientExchange: Exchange {
    let task: HTTPClient.Task<Void>

    // On the event loop a cancellation ends the exchange at once, also inside a callback of its own: it comes behind.
    func cancel() { task.eventLoop.execute { task.cancel() } }
}

/// An exchange that ended before it began.
private struct FailedExchange: Exchange {
    func cancel() {}
}
#endif
