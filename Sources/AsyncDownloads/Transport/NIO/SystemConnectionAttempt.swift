#if ServerStack
internal import NIOCore
internal import NIOPosix

/// An attempt to establish a connection: over TCP, through the tunnel of a proxy, and with TLS, as the route requires.
///
/// NIO tries the addresses of a name according to RFC 8305 (Happy Eyeballs). One timer limits all steps together. A name
/// resolution can't be canceled, so a canceled attempt ignores its result.
final class SystemConnectionAttempt: ConnectionAttempt {
    private enum State {
        case idle
        /// The name is being resolved, or addresses are being tried, with these channels so far.
        case connecting([any Channel], timer: Scheduled<Void>)
        /// The TCP connection is established; if the route has a tunnel, the proxy is opening it.
        case tunneling(any Channel, timer: Scheduled<Void>)
        /// The TLS handshake is in progress, if the connection uses TLS.
        case handshaking(any Channel, timer: Scheduled<Void>)
        case ended
    }

    private let route: Route
    private let security: ClientSecurity
    private let addressFamily: AddressFamily
    private let timeout: TimeAmount
    private let pool: ConnectionPool
    private var state = State.idle
    private var completion: (Result<HTTPConnection, any Error>) -> Void = { _ in }

    init(
        by route: Route, security: ClientSecurity, addressFamily: AddressFamily, timeout: TimeAmount,
        pool: ConnectionPool
    ) {
        self.route = route
        self.security = security
        self.addressFamily = addressFamily
        self.timeout = timeout
        self.pool = pool
    }

    func start(completion: @escaping (Result<HTTPConnection, any Error>) -> Void) {
        self.completion = completion
        let timer = pool.loop.eventLoop.assumeIsolated().scheduleTask(in: timeout) { self.timeOut() }
        state = .connecting([], timer: timer)
        connect().assumeIsolated().whenComplete { self.connected($0) }
    }

    private func connect() -> EventLoopFuture<any Channel> {
        let (host, port) = route.endpoint
        guard let address = try? SocketAddress(ipAddress: host, port: port) else {
            let resolver = NameResolver(host, port, addressFamily, on: pool.loop.eventLoop)
            return bootstrap().resolver(resolver).connect(host: host, port: port)
        }
        guard addressFamily.includes(address) else {
            let error = DownloadError(
                .hostNotFound, "the host's address isn't \(addressFamily == .ipv4 ? "IPv4" : "IPv6")",
                isRetryable: false)
            return pool.loop.eventLoop.makeFailedFuture(error)
        }
        return bootstrap().connect(to: address)
    }

    func cancel() { _ = finish(closingChannels: true) }

    private func bootstrap() -> ClientBootstrap {
        let attempt = NIOLoopBound(self, eventLoop: pool.loop.eventLoop)
        // The bootstrap sets TCP_NODELAY.
        return ClientBootstrap(group: pool.loop.eventLoop)
            // The attempt's own timer fires first.
            .connectTimeout(timeout + .seconds(1))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try attempt.value.initialize(channel) }
            }
    }

    private func initialize(_ channel: any Channel) throws {
        guard case .connecting(let channels, let timer) = state else { throw CancellationError() }
        state = .connecting(channels + [channel], timer: timer)
        // As an option of the bootstrap, each would take several allocations and a future.
        guard let options = channel.syncOptions else { preconditionFailure("a channel without synchronous options") }
        let buffers = route.isSecure ? pool.loop.secureBuffers : pool.loop.buffers
        try options.setOption(.recvAllocator, value: ReadBufferAllocator(buffers: buffers))
        // Each read takes memory, and bytes that are read together with the end of the connection may not be delivered.
        try options.setOption(.maxMessagesPerRead, value: 1)
        // Nothing is read before the handlers have been added.
        try options.setOption(.autoRead, value: false)
    }

    private func connected(_ result: Result<any Channel, any Error>) {
        guard case .connecting(_, let timer) = state else {
            // The attempt ended before its result arrived.
            if case .success(let channel) = result { channel.close(promise: nil) }
            return
        }
        do {
            let channel = try result.get()
            state = .tunneling(channel, timer: timer)
            if route.isSecure {
                try channel.pipeline.syncOperations.addHandler(SecureBufferRecycler(pool.loop.secureBuffers))
            }
            if let proxy = route.proxy, proxy.isSecure {
                try security.addHandlers(for: proxy.host, identifies: false, to: channel.pipeline.syncOperations)
            }
            try openTunnel(on: channel)
            try channel.syncOptions?.setOption(.autoRead, value: true)
        } catch {
            end(.failure(error))
        }
    }

    /// Opens the tunnel, if the route has one, and then the connection to the server.
    private func openTunnel(on channel: any Channel) throws {
        guard case .tunneled(let origin, _, let proxy) = route else { return try openConnection(on: channel) }
        let completion: (Result<Void, any Error>) -> Void = { result in
            guard case .tunneling = self.state else { return }
            do {
                try result.get()
                guard channel.isActive else { throw ChannelError.eof }
                try self.openConnection(on: channel)
            } catch {
                self.end(.failure(DownloadError(tunnel: error)))
            }
        }
        if proxy.kind == .socks {
            try SOCKSTunnel(to: origin, through: proxy, completion: completion).add(to: channel.pipeline.syncOperations)
        } else {
            try HTTPTunnel(to: origin, through: proxy, completion: completion).add(to: channel.pipeline.syncOperations)
        }
    }

    private func openConnection(on channel: any Channel) throws {
        guard case .tunneling(_, let timer) = state else { return }
        state = .handshaking(channel, timer: timer)
        let pipeline = channel.pipeline.syncOperations
        if let origin = route.origin, origin.isSecure {
            try security.addHandlers(for: origin.host, identifies: route.identifies, to: pipeline)
        }
        let connection = HTTPConnection(by: route, in: pool)
        try connection.addHandlers(to: pipeline)
        connection.whenOpened { result in self.end(result.map { connection }) }
    }

    private func timeOut() {
        switch state {
        case .connecting: end(.failure(DownloadError(.cannotConnect, "no connection within the time limit")))
        case .tunneling:
            end(.failure(DownloadError(.proxyFailed, "no tunnel within the time limit", isRetryable: true)))
        case .handshaking, .idle, .ended:
            end(.failure(DownloadError(.cannotConnect, "no TLS handshake within the time limit")))
        }
    }

    /// Ends the attempt with a result; an error that occurs before the proxy, if any, has been passed names the proxy.
    private func end(_ result: Result<HTTPConnection, any Error>) {
        var result = result
        var isFailure = false
        if case .failure(let error) = result {
            isFailure = true
            if let proxy = route.proxy, isAtProxy {
                result = .failure(DownloadError(nio: error, hasHead: false).about(proxy))
            }
        }
        if finish(closingChannels: isFailure) { completion(result) }
    }

    private var isAtProxy: Bool {
        switch state {
        case .connecting, .tunneling: true
        case .handshaking: route.origin == nil
        case .idle, .ended: false
        }
    }

    /// Ends the attempt; returns false if it has already ended.
    private func finish(closingChannels closesChannels: Bool) -> Bool {
        let (openChannels, timer): ([any Channel], Scheduled<Void>?)
        switch state {
        case .idle: (openChannels, timer) = ([], nil)
        case .connecting(let channels, let running): (openChannels, timer) = (channels, running)
        case .tunneling(let channel, let running), .handshaking(let channel, let running):
            (openChannels, timer) = ([channel], running)
        case .ended: return false
        }
        state = .ended
        timer?.cancel()
        if closesChannels { for channel in openChannels { channel.close(promise: nil) } }
        return true
    }
}

/// The connector for TCP, proxies, and TLS.
struct SystemConnector: Connector {
    let security: ClientSecurity
    let addressFamily: AddressFamily
    let timeout: TimeAmount

    func makeAttempt(for exchange: NIOExchange, in pool: ConnectionPool) -> any ConnectionAttempt {
        SystemConnectionAttempt(
            by: exchange.request.route, security: security, addressFamily: addressFamily, timeout: timeout, pool: pool)
    }
}

/// An attempt to open one connection for an exchange; used on its event loop only.
protocol ConnectionAttempt: AnyObject {
    /// Begins the attempt; calls `completion` once with the connection or an error, unless the attempt is canceled.
    func start(completion: @escaping (Result<HTTPConnection, any Error>) -> Void)

    /// Ends the attempt at once, without a result.
    func cancel()
}

/// The source of a pool's connections; tests supply a fake.
protocol Connector: Sendable {
    /// Creates an attempt without starting it.
    func makeAttempt(for exchange: NIOExchange, in pool: ConnectionPool) -> any ConnectionAttempt
}
#endif
