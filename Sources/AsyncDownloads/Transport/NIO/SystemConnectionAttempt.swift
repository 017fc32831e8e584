#if ServerStack
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// An attempt to establish a connection over TCP and, for https, TLS.
///
/// NIO resolves the name and tries its addresses by RFC 8305 (happy eyeballs). One timer bounds resolving, connecting, and
/// the handshake together. NIO can't stop resolving a name, so a canceled attempt ignores the result.
final class SystemConnectionAttempt: ConnectionAttempt {
    private enum State {
        case idle
        /// The name is being resolved, or addresses are being tried, with these channels so far.
        case connecting([any Channel], timer: Scheduled<Void>)
        /// One address has accepted the TCP connection; the handshake is in progress.
        case handshaking(any Channel, timer: Scheduled<Void>)
        case ended
    }

    /// The number of bytes of the first read from a connection with TLS.
    private static let firstSecureLength = 64 << 10
    /// The number of bytes up to which such reads grow as long as they are full.
    private static let mostSecureLength = 1 << 20

    private let origin: Origin
    private let security: NIOSSLContext?
    private let timeout: TimeAmount
    private let pool: ConnectionPool
    private var state = State.idle
    /// The handlers of the channels so far.
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var completion: (Result<HTTPConnection, any Error>) -> Void = { _ in }

    init(to origin: Origin, security: NIOSSLContext?, timeout: TimeAmount, pool: ConnectionPool) {
        self.origin = origin
        self.security = security
        self.timeout = timeout
        self.pool = pool
    }

    func start(completion: @escaping (Result<HTTPConnection, any Error>) -> Void) {
        self.completion = completion
        let timer = pool.loop.eventLoop.assumeIsolated().scheduleTask(in: timeout) { self.timeOut() }
        state = .connecting([], timer: timer)
        let host = origin.host.hasPrefix("[") ? String(origin.host.dropFirst().dropLast()) : origin.host
        let address = try? SocketAddress(ipAddress: host, port: origin.port)
        // RFC 6066 doesn't permit addresses as server names; NIOSSL verifies certificates for the peer's address then.
        let bootstrap = bootstrap(serverName: address == nil ? Self.serverName(of: host) : nil)
        let channel = address.map { bootstrap.connect(to: $0) } ?? bootstrap.connect(host: host, port: origin.port)
        channel.assumeIsolated().whenComplete { self.connected($0) }
    }

    func cancel() { _ = finish(closingChannels: true) }

    /// Returns the name without the dot at its end, which the extension doesn't permit (RFC 6066, 3).
    static func serverName(of host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    private func bootstrap(serverName: String?) -> ClientBootstrap {
        let attempt = NIOLoopBound(self, eventLoop: pool.loop.eventLoop)
        let allocator: any RecvByteBufferAllocator =
            security == nil
            ? ReadBufferAllocator(buffers: pool.loop.buffers)
            : AdaptiveRecvByteBufferAllocator(
                minimum: Self.firstSecureLength / 4, initial: Self.firstSecureLength, maximum: Self.mostSecureLength)
        return ClientBootstrap(group: pool.loop.eventLoop)
            // Later than the timer of the attempt.
            .connectTimeout(timeout + .seconds(1))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.recvAllocator, value: allocator)
            // Each read takes memory, and bytes that are read together with the end may not be delivered.
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try attempt.value.initialize(channel, serverName: serverName) }
            }
    }

    private func initialize(_ channel: any Channel, serverName: String?) throws {
        guard case .connecting(let channels, let timer) = state else { throw CancellationError() }
        let connection = HTTPConnection(to: origin, in: pool, isSecure: security != nil)
        let pipeline = channel.pipeline.syncOperations
        if let security {
            try pipeline.addHandler(NIOSSLClientHandler(context: security, serverHostname: serverName))
        }
        try connection.addHandlers(to: pipeline)
        state = .connecting(channels + [channel], timer: timer)
        connections[ObjectIdentifier(channel)] = connection
    }

    private func connected(_ result: Result<any Channel, any Error>) {
        guard case .connecting(_, let timer) = state else {
            // The attempt ended while the connection was on its way.
            if case .success(let channel) = result { channel.close(promise: nil) }
            return
        }
        switch result {
        case .success(let channel):
            guard let connection = connections[ObjectIdentifier(channel)] else {
                preconditionFailure("connected to a channel that was not initialized")
            }
            connections = [:]
            state = .handshaking(channel, timer: timer)
            connection.whenOpened { result in self.end(result.map { connection }) }
        case .failure(let error):
            end(.failure(error))
        }
    }

    private func timeOut() {
        if case .connecting = state {
            end(.failure(DownloadError(.cannotConnect, "no connection within the time limit")))
        } else {
            end(.failure(DownloadError(.secureConnectionFailed, "no TLS handshake within the time limit")))
        }
    }

    private func end(_ result: Result<HTTPConnection, any Error>) {
        let isFailure = if case .failure = result { true } else { false }
        if finish(closingChannels: isFailure) { completion(result) }
    }

    /// Ends the attempt; returns false if it has ended before.
    private func finish(closingChannels closesChannels: Bool) -> Bool {
        let (openChannels, timer): ([any Channel], Scheduled<Void>?)
        switch state {
        case .idle: (openChannels, timer) = ([], nil)
        case .connecting(let channels, let running): (openChannels, timer) = (channels, running)
        case .handshaking(let channel, let running): (openChannels, timer) = ([channel], running)
        case .ended: return false
        }
        state = .ended
        connections = [:]
        timer?.cancel()
        if closesChannels { for channel in openChannels { channel.close(promise: nil) } }
        return true
    }
}
#endif
