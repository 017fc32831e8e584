import Foundation

@testable import AsyncDownloads

/// An engine with servers that respond at once, or can't be reached.
final class SimulatedServers: Transport {
    /// What happens to a request.
    enum Reply: Sendable {
        case unreachable
        case response(Int, HeaderFields = [:])
        /// A response that arrives when the test calls ``SimulatedServers/answerHeld()``.
        case held
    }

    private final class SimulatedExchange: Exchange {
        private let handler: any ExchangeHandler
        private let hasEnded = Mutex(false)

        init(_ handler: any ExchangeHandler) {
            self.handler = handler
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
            _ = handler.exchangeReceivedHead(head)
            _ = [UInt8(1)].withUnsafeBytes { handler.exchangeReceivedBytes($0) }
            end(.complete)
        }

        func cancel() { end(.cancelled) }
    }

    private struct State {
        var requests: [URL] = []
        var held: [SimulatedExchange] = []
        var isClosed = false
    }

    let windowLength: Int64? = nil
    let decodesContent = false
    private let reply: @Sendable (URL) -> Reply
    private let state = Mutex(State())

    init(_ reply: @escaping @Sendable (URL) -> Reply) {
        self.reply = reply
    }

    /// The URLs of all requests, in their order.
    var requests: [URL] { state.withLock { $0.requests } }

    /// The number of requests that wait for their responses.
    var heldCount: Int { state.withLock { $0.held.count } }

    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        let exchange = SimulatedExchange(handler)
        state.withLock { $0.requests.append(request.url) }
        switch reply(request.url) {
        case .unreachable: exchange.end(.failed(DownloadError(.cannotConnect, "refused")))
        case .response(let status, let fields): exchange.respond(status, fields)
        case .held: state.withLock { $0.held.append(exchange) }
        }
        return exchange
    }

    /// Answers the requests that wait with 200.
    func answerHeld() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for exchange in held { exchange.respond(200, [:]) }
    }

    func shutdown() async {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for exchange in held { exchange.cancel() }
    }
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

    /// Moves the clock in steps of a second, while nothing is in progress, until the condition holds.
    func advance(until condition: () -> Bool) async {
        while true {
            await waitUntilIdle()
            if condition() { return }
            time.advance(by: .seconds(1))
        }
    }

    /// Waits until all transfers wait for a permit or a time, or have ended.
    func waitUntilIdle() async {
        var idleChecks = 0
        // One transfer may start work of another one after it was checked, so the check is repeated.
        while idleChecks < 2 {
            idleChecks = downloader.liveTransfers.allSatisfy(\.isIdle) ? idleChecks + 1 : 0
            await Task.yield()
        }
    }
}

extension Download {
    var hasEnded: Bool { [.completed, .failed, .cancelled].contains(state) }
}
