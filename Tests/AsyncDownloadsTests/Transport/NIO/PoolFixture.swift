#if ServerStack
import Foundation
import NIOCore
import NIOEmbedded
import Testing

@testable import AsyncDownloads

/// A connection pool on an event loop whose time a test controls, with connections in memory.
///
/// Everything runs on the thread of the test.
final class PoolFixture {
    /// An attempt to connect that the test ends.
    final class Attempt: ConnectionAttempt {
        let route: Route
        private let loop: EmbeddedEventLoop
        private let pool: ConnectionPool
        private var completion: ((Result<HTTPConnection, any Error>) -> Void)?
        private(set) var isCanceled = false
        /// The channel of the connection, once it is established.
        private(set) var channel: EmbeddedChannel?
        /// The connection, while it is referenced.
        private(set) weak var connection: HTTPConnection?

        init(by route: Route, on loop: EmbeddedEventLoop, in pool: ConnectionPool) {
            (self.route, self.loop, self.pool) = (route, loop, pool)
        }

        func start(completion: @escaping (Result<HTTPConnection, any Error>) -> Void) {
            self.completion = completion
        }

        func cancel() { isCanceled = true }

        /// Establishes the connection.
        func connect() throws {
            let channel = EmbeddedChannel(loop: loop)
            let connection = HTTPConnection(by: route, in: pool)
            try connection.addHandlers(to: channel.pipeline.syncOperations)
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
            (self.channel, self.connection) = (channel, connection)
            let completion = completion.take()
            connection.whenOpened { result in completion?(result.map { connection }) }
            loop.run()
        }

        func fail(_ error: any Error) {
            completion.take()?(.failure(error))
            loop.run()
        }

        /// Sends bytes of the server.
        func receive(_ text: String) {
            _ = try? channel?.writeInbound(ByteBuffer(string: text))
            channel?.pipeline.read()
            loop.run()
        }

        /// Closes the connection after an error, as NIOSSL reports a closure without an alert.
        func end(after error: (any Error)?) {
            if let error { channel?.pipeline.fireErrorCaught(error) }
            _ = try? channel?.finish(acceptAlreadyClosed: true)
            channel = nil
            loop.run()
        }

        /// Whether the connection is open.
        var isOpen: Bool { channel?.isActive ?? false }
    }

    private final class ManualConnector: Connector, @unchecked Sendable {  // Used on the thread of the test.
        let loop: EmbeddedEventLoop
        var attempts: [Attempt] = []

        init(_ loop: EmbeddedEventLoop) { self.loop = loop }

        func makeAttempt(for exchange: NIOExchange, in pool: ConnectionPool) -> any ConnectionAttempt {
            let attempt = Attempt(by: exchange.request.route, on: loop, in: pool)
            attempts.append(attempt)
            return attempt
        }
    }

    private let loop: EmbeddedEventLoop
    private let proxies: ProxyRules
    private let connector: ManualConnector
    private let handle: ConnectionPoolHandle
    private let shortage: SharedValue<Bool>
    let budget: DescriptorBudget

    /// - Parameters:
    ///   - idleCount: The number of connections that may be idle.
    ///   - proxy: The proxy of all requests.
    init(idleCount: Int = 8, proxy: ProxyChoice = .none) {
        proxies = ProxyRules(proxy, environment: [:])
        loop = EmbeddedEventLoop()
        connector = ManualConnector(loop)
        let shortage = SharedValue(false)
        self.shortage = shortage
        budget = DescriptorBudget(loopCount: 1, descriptorLimit: idleCount * 8) { shortage.withLock { $0 } }
        handle = ConnectionPoolHandle(
            loop: DeliveryLoop(eventLoop: loop), connector: connector, budget: budget, longestWait: .seconds(30))
    }

    /// Creates another pool of the transport, on the same event loop.
    init(beside other: PoolFixture) {
        (loop, proxies, shortage, budget) = (other.loop, other.proxies, other.shortage, other.budget)
        connector = ManualConnector(loop)
        handle = ConnectionPoolHandle(
            loop: DeliveryLoop(eventLoop: loop), connector: connector, budget: budget, longestWait: .seconds(30))
    }

    /// Whether only few descriptors are left.
    var isShort: Bool {
        get { shortage.withLock { $0 } }
        set { shortage.withLock { $0 = newValue } }
    }

    /// The attempts to connect so far.
    var attempts: [Attempt] { connector.attempts }

    /// Runs the enqueued tasks.
    func run() { loop.run() }

    /// Lets time pass on the event loop.
    func wait(_ time: TimeAmount) { loop.advanceTime(by: time) }

    /// Starts an exchange with a host.
    func start(_ host: String) throws -> (exchange: NIOExchange, recorder: BodyRecorder) {
        let recorder = BodyRecorder()
        let url = try #require(URL(string: "http://\(host)/file"))
        let request = try WireRequest(
            ExchangeRequest(url: url, headers: [:]), proxies: proxies, hasIdentity: false)
        let exchange = NIOExchange(
            request, pool: handle, poolIndex: 0, handler: recorder, whenKept: {}, whenEnded: {})
        handle.execute { $0.start(exchange) }
        loop.run()
        return (exchange, recorder)
    }

    /// Performs an exchange with a host on a new connection, which is idle afterward.
    func leaveIdle(_ host: String) async throws -> Attempt {
        let (_, recorder) = try start(host)
        let attempt = try #require(attempts.last)
        try attempt.connect()
        attempt.receive("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none")
        #expect(await recorder.result() == "one")
        return attempt
    }

    func shutDown() {
        handle.execute { $0.shutDown() }
        loop.run()
    }
}
#endif
