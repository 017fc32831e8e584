#if ServerStack
internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The engine on AsyncHTTPClient: bytes are handed on in the event loop's callback, in parts of up to 1 MiB, and the
/// future that the callback returns holds the connection back.
package final class HTTPClientTransport: Transport {
    /// A client for each event loop, so that a connection and the callbacks of its exchanges are on one loop: with one
    /// client for all loops, every part of a body would cross from one thread to another.
    private enum Clients {
        case notMade
        /// With the number of exchanges with each host.
        case made([Client], running: [String: Int])
        case shutDown
    }

    private struct Client {
        let client: HTTPClient
        let clock: CallbackClock
    }

    private let configuration: HTTPClient.Configuration
    private let state = Mutex(Clients.notMade)

    /// - Parameters:
    ///   - connectTimeout: How long a connection may take to be made.
    ///   - maximumConnectionsPerHost: How many exchanges with one host there may be at once. The pool's connect timeout
    ///     also counts for those that wait in it, so none may have to.
    package init(connectTimeout: Duration = .seconds(30), maximumConnectionsPerHost: Int = 256) {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .nanoseconds(Int64(connectTimeout / .nanoseconds(1)))),
            decompression: .disabled)
        // Bulk bodies over HTTP/2 come in small frames, and share one window.
        configuration.httpVersion = .http1Only
        // The retry policy is the place for it: the pool's own retries hide a refused connection until the timeout.
        configuration.connectionPool.retryConnectionEstablishment = false
        // The scheduler bounds connections; the pool must not do it a second time. One that is closing still counts.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(
            256, 2 * maximumConnectionsPerHost)
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
        guard case .made(let clients, _) = state.withLock({ $0 }) else { return }
        for client in clients { client.client.shutdown { _ in } }
    }

    package var windowLength: Int64? { nil }
    package var decodesContent: Bool { false }

    package func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
        var headers = HTTPHeaders()
        for field in request.headers { headers.add(name: field.name, value: field.value) }
        do {
            let clientRequest = try HTTPClient.Request(url: request.url, method: .GET, headers: headers)
            let host = "\(request.url.host ?? ""):\(request.url.port ?? 0)"
            let client = try client(for: host)
            let delegate = ExchangeDelegate(handler: handler, clock: client.clock) { [self] in ended(at: host) }
            return HTTPClientExchange(
                task: client.client.execute(request: clientRequest, delegate: delegate), clock: client.clock)
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
        guard case .made(let clients, _) = clients else { return }
        // Nobody could do anything about a connection that does not close well.
        for client in clients { try? await client.client.shutdown() }
    }

    /// A client for one more exchange with `host`; the clients are made when the first is needed.
    ///
    /// Exchanges that follow each other use one client, and so its connections; those at the same time use all.
    private func client(for host: String) throws -> Client {
        try state.withLock { state in
            switch state {
            case .made(let clients, var running):
                let count = running[host, default: 0]
                running[host] = count + 1
                state = .made(clients, running: running)
                return clients[Int((UInt(bitPattern: host.hashValue) &+ UInt(count)) % UInt(clients.count))]
            case .shutDown: throw DownloadError(.shutDown)
            case .notMade: break
            }
            // Each thread of NIO opens three descriptors, and ends the process where it cannot.
            if let shortage = DescriptorShortage.error(opening: EventLoops.descriptorCount + 1) { throw shortage }
            let clients = EventLoops.all.map { loop, clock in
                Client(
                    client: HTTPClient(eventLoopGroupProvider: .shared(loop), configuration: configuration),
                    clock: clock)
            }
            state = .made(clients, running: [host: 1])
            return clients[Int(UInt(bitPattern: host.hashValue) % UInt(clients.count))]
        }
    }

    private func ended(at host: String) {
        state.withLock { state in
            guard case .made(let clients, var running) = state, let count = running[host] else { return }
            running[host] = count == 1 ? nil : count - 1
            state = .made(clients, running: running)
        }
    }
}

private struct HTTPClientExchange: Exchange {
    let task: HTTPClient.Task<Void>
    let clock: CallbackClock

    var callbackTime: Duration { clock.time }

    // On the event loop a cancellation ends the exchange at once, also inside a callback of its own: it comes behind.
    func cancel() { task.eventLoop.execute { task.cancel() } }
}

/// An exchange that ended before it began.
private struct FailedExchange: Exchange {
    func cancel() {}
}
#endif
