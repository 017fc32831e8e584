#if ServerStack
internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The transport that uses AsyncHTTPClient.
///
/// Bytes are delivered in callbacks on an event loop or on the loop's queue, in parts of up to 256 KiB, or
/// 1 MiB with TLS. The future that
/// a callback returns is the back-pressure: the connection isn't read before it succeeds.
package final class HTTPClientTransport: Transport {
    /// The HTTP clients, one for each event loop.
    ///
    /// A connection and the callbacks of its exchanges are thus on one loop. With one client for all loops, every part
    /// of a body would be passed from one thread to another.
    private enum Clients {
        case notCreated
        /// The clients exist; `running` is the number of running exchanges for each host.
        case created([Client], running: [String: Int])
        case shutDown
    }

    private struct Client {
        let client: HTTPClient
        let loop: DeliveryLoop
    }

    private let configuration: HTTPClient.Configuration
    private let state = Mutex(Clients.notCreated)

    /// Creates a transport; its HTTP clients are created for the first exchange.
    ///
    /// - Parameters:
    ///   - connectTimeout: The time limit for establishing a connection.
    ///   - maximumConnectionsPerHost: The number of transfers with one host that may run at the same time, each with
    ///     up to 16 exchanges. The connection pool is made large enough that no exchange waits in it, because its
    ///     connect timeout includes that wait.
    ///   - additionalTrustRoots: The root certificates that are trusted in addition to those of the system.
    package init(
        connectTimeout: Duration = .seconds(30), maximumConnectionsPerHost: Int = 256,
        additionalTrustRoots: TrustRoots? = nil
    ) {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .nanoseconds(Int64(connectTimeout / .nanoseconds(1)))),
            decompression: .disabled)
        if let additionalTrustRoots {
            var security = TLSConfiguration.makeClientConfiguration()
            security.additionalTrustRoots = [.certificates(additionalTrustRoots.certificates)]
            configuration.tlsConfiguration = security
        }
        // Over HTTP/2, large bodies arrive in small frames and share one flow-control window.
        configuration.httpVersion = .http1Only
        // Retries are decided by the retry policy. The pool's own retries hide a refused connection until the timeout.
        configuration.connectionPool.retryConnectionEstablishment = false
        // The scheduler limits connections, so the pool's limit must not take effect. A closing connection still
        // counts.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = HostPool.size(
            forTransfers: maximumConnectionsPerHost)
        configuration.http1_1ConnectionDebugInitializer = { channel in
            // Large reads make the engine fast: fewer system calls, and one write for each part. Only one read is done
            // at a time: each read takes memory, and bytes that are read together with the end of the connection may
            // not be delivered.
            let isSecure = (try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)) != nil
            let allocator = FixedSizeRecvByteBufferAllocator(
                capacity: isSecure ? ExchangeDelegate.secureReadLength : ExchangeDelegate.readLength)
            return channel.setOption(.recvAllocator, value: allocator)
                .flatMap { channel.setOption(.maxMessagesPerRead, value: 1) }
        }
        self.configuration = configuration
    }

    deinit {
        // No exchange is running, because every transfer retains its transport.
        guard case .created(let clients, _) = state.withLock({ $0 }) else { return }
        for client in clients { client.client.shutdown { _ in } }
    }

    package var windowLength: Int64? { nil }
    package var decodesContent: Bool { false }

    package func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
        var headers = HTTPHeaders()
        for field in request.headers { headers.add(name: field.name, value: field.value) }
        do {
            let clientRequest = try HTTPClient.Request(url: request.url, method: .GET, headers: headers)
            let origin = Origin(request.url)
            let host = "\(origin?.host ?? ""):\(origin?.port ?? 0)"
            let client = try client(for: host)
            let delegate = ExchangeDelegate(
                handler: handler, isSecure: origin?.scheme == "https", loop: client.loop
            ) { [self] in ended(at: host) }
            return HTTPClientExchange(
                task: client.client.execute(request: clientRequest, delegate: delegate), delegate: delegate)
        } catch {
            handler.exchangeEnded(.failed(DownloadError(httpClient: error, hasHead: false)))
            return FailedExchange()
        }
    }

    package func shutdown() async {
        let clients = state.withLock { state in
            defer { state = .shutDown }
            return state
        }
        guard case .created(let clients, _) = clients else { return }
        // An error is ignored, because a caller can't do anything about a connection that fails to close.
        for client in clients { try? await client.client.shutdown() }
    }

    /// Returns a client for another exchange with `host`, and creates the clients if they don't exist.
    ///
    /// Successive exchanges use the same client and therefore its connections; concurrent exchanges use all clients.
    private func client(for host: String) throws -> Client {
        try state.withLock { state in
            switch state {
            case .created(let clients, var running):
                let count = running[host, default: 0]
                running[host] = count + 1
                state = .created(clients, running: running)
                return clients[Int((UInt(bitPattern: host.hashValue) &+ UInt(count)) % UInt(clients.count))]
            case .shutDown: throw DownloadError(.shutDown)
            case .notCreated: break
            }
            if let shortage = DescriptorShortage.error(opening: EventLoops.descriptorCount + 1) { throw shortage }
            let clients = EventLoops.all.map { loop in
                Client(
                    client: HTTPClient(eventLoopGroupProvider: .shared(loop.eventLoop), configuration: configuration),
                    loop: loop)
            }
            state = .created(clients, running: [host: 1])
            return clients[Int(UInt(bitPattern: host.hashValue) % UInt(clients.count))]
        }
    }

    private func ended(at host: String) {
        state.withLock { state in
            guard case .created(let clients, var running) = state, let count = running[host] else { return }
            running[host] = count == 1 ? nil : count - 1
            state = .created(clients, running: running)
        }
    }
}

private struct HTTPClientExchange: Exchange {
    let task: HTTPClient.Task<Void>
    let delegate: ExchangeDelegate

    var callbackTime: Duration { delegate.callbackTime }

    // On the event loop, a cancellation would end the exchange at once, even inside one of its callbacks. It is
    // enqueued, so that the end is reported after the callback has returned.
    func cancel() { task.eventLoop.execute { task.cancel() } }
}

/// An exchange that failed before it was started.
private struct FailedExchange: Exchange {
    func cancel() {}
}
#endif
