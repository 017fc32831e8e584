#if ServerStack
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The engine on AsyncHTTPClient: bytes are handed on in the event loop's callback, in parts of up to 1 MiB, and the
/// future that the callback returns holds the connection back.
package final class HTTPClientTransport: Transport {
    private let client: HTTPClient

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
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        // Nothing runs any more, since every transfer holds its engine. A client that was shut down before only says so.
        client.shutdown { _ in }
    }

    package var windowLength: Int64? { nil }
    package var decodesContent: Bool { false }

    package func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
        var headers = HTTPHeaders()
        for field in request.headers { headers.add(name: field.name, value: field.value) }
        do {
            let clientRequest = try HTTPClient.Request(url: request.url, method: .GET, headers: headers)
            let delegate = ExchangeDelegate(handler: handler)
            return HTTPClientExchange(task: client.execute(request: clientRequest, delegate: delegate))
        } catch {
            handler.exchangeEnded(.failed(DownloadError(httpClient: error, hasHead: false)))
            return FailedExchange()
        }
    }

    package func shutdown() async {
        // Fails only when it was shut down before.
        try? await client.shutdown()
    }
}

private struct HTTPClientExchange: Exchange {
    let task: HTTPClient.Task<Void>

    func cancel() { task.cancel() }
}

/// An exchange that ended before it began.
private struct FailedExchange: Exchange {
    func cancel() {}
}
#endif
