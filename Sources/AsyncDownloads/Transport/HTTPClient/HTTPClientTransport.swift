#if ServerStack
internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The transport that uses AsyncHTTPClient.
///
/// Bytes are delivered in callbacks on an event loop or on the loop's queue, in parts of up to 1 MiB. The future that a
/// callback returns is the back-pressure: the connection isn't read before it succeeds.
package final class HTTPClientTransport: Transport {
    /// The HTTP clients, one for each event loop.
    ///
    /// A connection and the callbacks of its exchanges therefore run on one loop. With one client for all loops, every
    /// part of a body would be passed from one thread to another.
    private struct Clients {
        /// The clients; empty until the first exchange.
        var clients: [Client] = []
        var choice = LoopChoice()
        var isShutDown = false
    }

    private struct Client {
        let client: HTTPClient
        let loop: DeliveryLoop
    }

    private let configuration: HTTPClient.Configuration
    private let longestBlock: Duration
    private let state = Mutex(Clients())

    /// Creates a transport; its HTTP clients are created for the first exchange.
    ///
    /// - Parameters:
    ///   - connectTimeout: The time limit for establishing a connection.
    ///   - maximumConnectionsPerHost: The number of transfers with one host that may run at the same time, each with
    ///     up to 16 exchanges. The connection pool is made large enough that no exchange waits in it, because its
    ///     connect timeout includes that wait.
    ///   - additionalTrustRoots: The root certificates that are trusted in addition to the system's.
    ///   - longestBlock: The maximum time for which an event loop is blocked until a handler takes a part. If the
    ///     connection is lost after that time, bytes that are still unread are dropped.
    package init(
        connectTimeout: Duration = .seconds(30), maximumConnectionsPerHost: Int = 256,
        additionalTrustRoots: TrustRoots? = nil, longestBlock: Duration = .milliseconds(100)
    ) {
        self.longestBlock = longestBlock
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(connectTimeout)),
            decompression: .disabled)
        var security = TLSConfiguration.makeClientConfiguration()
        // RFC 8996.
        security.minimumTLSVersion = .tlsv12
        security.trust(additionalTrustRoots)
        // A server that is still sending doesn't answer a closing alert, so NIO would keep reading for up to five
        // seconds.
        security.shutdownTimeout = .zero
        configuration.tlsConfiguration = security
        // Over HTTP/2, large bodies arrive in small frames and share one flow-control window.
        configuration.httpVersion = .http1Only
        // Retries are decided by the retry policy. The pool's own retries hide a refused connection until the timeout.
        configuration.connectionPool.retryConnectionEstablishment = false
        // The scheduler limits connections, so the pool's limit must not take effect. A closing connection still
        // counts.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = HostPool.size(
            forTransfers: maximumConnectionsPerHost)
        self.configuration = configuration
    }

    /// Returns the configuration of a client whose connections read into `buffers`.
    private func configuration(readingInto buffers: ReadBuffers) -> HTTPClient.Configuration {
        var configuration = configuration
        configuration.http1_1ConnectionDebugInitializer = { channel in
            // Large reads make the engine fast: fewer system calls, and one write for each part. Only one read is done
            // at a time: each read takes memory, and bytes that are read together with the end of the connection may
            // not be delivered.
            let isSecure = (try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)) != nil
            // With TLS, the engine decrypts from these buffers into others.
            let allocator: any RecvByteBufferAllocator =
                isSecure
                ? FixedSizeRecvByteBufferAllocator(capacity: ExchangeDelegate.secureReadLength)
                : ReadBufferAllocator(buffers: buffers)
            return channel.setOption(.recvAllocator, value: allocator)
                .flatMap { channel.setOption(.maxMessagesPerRead, value: 1) }
        }
        return configuration
    }

    deinit {
        // No exchange is running, because every transfer retains its transport.
        for client in state.withLock(\.clients) { client.client.shutdown { _ in } }
    }

    package var windowLength: Int64? { nil }
    package var decodesContent: Bool { false }

    package func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        let headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
        do {
            let clientRequest = try HTTPClient.Request(
                url: request.url, method: .init(rawValue: request.method.rawValue), headers: headers)
            let origin = Origin(request.url)
            let isSecure = origin?.scheme == "https"
            // Threads that write to one file wait for each other, so the exchanges of one file share a thread. With
            // TLS, several threads lose less than they gain by decrypting at the same time.
            let neighborIndex = isSecure ? nil : (neighbor as? HTTPClientExchange)?.clientIndex
            let (client, index) = try client(for: origin, beside: neighborIndex)
            let delegate = ExchangeDelegate(
                handler: handler, isSecure: isSecure, loop: client.loop, longestBlock: longestBlock
            ) { [self] in
                state.withLock { $0.choice.end(with: origin, at: index) }
            }
            return HTTPClientExchange(
                task: client.client.execute(request: clientRequest, delegate: delegate), delegate: delegate,
                clientIndex: index)
        } catch {
            handler.exchangeEnded(.failed(DownloadError(httpClient: error, hasHead: false)))
            return FailedExchange()
        }
    }

    package func shutdown() async {
        let clients = state.withLock { state in
            defer { state = Clients(isShutDown: true) }
            return state.clients
        }
        // The shutdown isn't awaited: the engine can't cancel a connection attempt, so it could take the whole connect
        // timeout. The event loops, which outlive the clients, close the connections.
        for client in clients { client.client.shutdown { _ in } }
    }

    /// Returns the client of another exchange with `origin`, and creates the clients if they don't exist.
    ///
    /// - Parameter neighbor: The position of the client of the exchange's neighbor; nil for no neighbor.
    private func client(for origin: Origin?, beside neighbor: Int?) throws -> (client: Client, index: Int) {
        try state.withLock { state in
            if state.isShutDown { throw DownloadError(.shutDown) }
            if state.clients.isEmpty {
                if let shortage = DescriptorShortage.error(opening: EventLoops.descriptorCount + 1) { throw shortage }
                state.clients = EventLoops.all.map { loop in
                    Client(
                        client: HTTPClient(
                            eventLoopGroupProvider: .shared(loop.eventLoop),
                            configuration: configuration(readingInto: loop.buffers)),
                        loop: loop)
                }
            }
            let index = state.choice.begin(with: origin, beside: neighbor, of: state.clients.count)
            return (state.clients[index], index)
        }
    }
}

private struct HTTPClientExchange: Exchange {
    let task: HTTPClient.Task<Void>
    let delegate: ExchangeDelegate
    /// The position of the client that performs the exchange.
    let clientIndex: Int

    var callbackTime: Duration { delegate.callbackTime }

    /// Enqueues a cancellation.
    ///
    /// On the event loop, a direct cancellation would end the exchange immediately, even inside one of its callbacks.
    func cancel() { task.eventLoop.execute { task.cancel() } }
}
#endif
