import Foundation

@testable import AsyncDownloads

/// An engine with servers that respond at once, or can't be reached.
final class SimulatedServers: Transport {
    /// The answer to a request.
    enum Reply: Sendable {
        case unreachable
        /// No connection is established; the engine doesn't end the exchange by itself.
        case noConnection
        /// Nothing is sent; the engine doesn't end the exchange by itself.
        case silence
        case response(Int, HeaderFields = [:])

        var isConnected: Bool {
            switch self {
            case .unreachable, .noConnection: false
            case .silence, .response: true
            }
        }
    }

    private final class SimulatedExchange: Exchange {
        private let handler: any ExchangeHandler
        private let isConnected: Bool
        private let hasEnded = Mutex(false)

        init(_ handler: any ExchangeHandler, isConnected: Bool) {
            self.handler = handler
            self.isConnected = isConnected
        }

        func end(_ end: ExchangeEnd) {
            let isFirst = hasEnded.withLock { hasEnded in
                defer { hasEnded = true }
                return !hasEnded
            }
            if isFirst { handler.exchangeEnded(end) }
        }

        func respond(_ status: Int, _ fields: HeaderFields) {
            guard !hasEnded.withLock({ $0 }) else { return }
            var head = ResponseHead(status: StatusCode(status), headers: fields)
            if head.headers["Content-Length"] == nil { head.headers["Content-Length"] = "1" }
            // A clock that moves during a write makes the disk seem slow, so that the handler isn't ready at once.
            Self.when(handler.exchangeReceivedHead(head)) { [self] in
                Self.when([UInt8(1)].withUnsafeBytes { handler.exchangeReceivedBytes($0) }) { [self] in end(.complete) }
            }
        }

        private static func when(_ readiness: Readiness, _ body: @escaping @Sendable () -> Void) {
            switch readiness {
            case .ready: body()
            case .notYet(let gate): gate.onOpen(body)
            }
        }

        func cancel() { end(isConnected ? .cancelled : .cancelledWhileConnecting) }
    }

    let windowLength: Int64? = nil
    let decodesContent = false
    private let reply: @Sendable (URL) -> Reply
    private let requested = Mutex<[URL]>([])

    init(_ reply: @escaping @Sendable (URL) -> Reply) {
        self.reply = reply
    }

    /// The URLs of all requests, in their order.
    var requests: [URL] { requested.withLock { $0 } }

    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        let reply = reply(request.url)
        let exchange = SimulatedExchange(handler, isConnected: reply.isConnected)
        requested.withLock { $0.append(request.url) }
        switch reply {
        case .unreachable: exchange.end(.failed(DownloadError(.cannotConnect, "refused")))
        case .noConnection, .silence: break
        case .response(let status, let fields): exchange.respond(status, fields)
        }
        return exchange
    }

    func shutdown() async {}
}

/// A downloader with simulated servers and a clock that the test moves.
struct SimulatedFixture: Sendable {
    let time: ManualTimeSource
    let servers: SimulatedServers
    let downloader: Downloader
    let directory: TemporaryDirectory

    static func with(
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        reply: @escaping @Sendable (_ url: URL, _ now: Duration) -> SimulatedServers.Reply,
        _ body: (SimulatedFixture) async throws -> Void
    ) async throws {
        let time = ManualTimeSource()
        let servers = SimulatedServers { reply($0, time.now) }
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .none
        configuration.durability = .processCrash
        configure(&configuration)
        let downloader = Downloader(
            configuration: configuration, transport: servers, store: PartialStore(durability: .processCrash), time: time
        )
        let fixture = Self(time: time, servers: servers, downloader: downloader, directory: try TemporaryDirectory())
        do {
            try await body(fixture)
        } catch {
            await downloader.shutdown()
            throw error
        }
        await downloader.shutdown()
    }

    func request(_ text: String) -> DownloadRequest {
        guard let url = URL(string: text) else { preconditionFailure("no URL: \(text)") }
        return DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/\(UUID()).bin"))
    }

    func start(_ url: String) -> Download { downloader.start(request(url)) }

    /// Moves the clock in steps, while nothing is in progress, until the condition holds.
    func advance(by step: Duration = .seconds(1), until condition: () -> Bool) async {
        while true {
            await waitUntilIdle()
            if condition() { return }
            time.advance(by: step)
        }
    }

    /// Waits until only the servers, the clock, or the test can cause progress.
    func waitUntilIdle() async { await downloader.waitUntilIdle() }
}
