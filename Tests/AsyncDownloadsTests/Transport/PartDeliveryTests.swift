import AsyncDownloads
import Dispatch
import LoopbackServer
import TestSupport
import Testing

/// Tests of large bodies, which an engine may deliver on several threads.
@Suite(.endsWhenHung) struct PartDeliveryTests {
    private static let content = Content(seed: 7, length: 24 << 20)

    @Test(arguments: Engine.allCases)
    func `a large body arrives in order, without concurrent callbacks, and before its end`(
        _ engine: Engine
    ) async throws {
        try await deliver(by: engine) { server, transport in
            let handler = OrderRecorder(Self.content)
            _ = transport.start(ExchangeRequest(url: server.url("/file"), headers: [:]), beside: nil, handler: handler)
            await handler.hasEnded()
            await transport.shutdown()
            #expect(handler.report == .init(byteCount: Self.content.length, endCount: 1))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a canceled exchange delivers nothing after its end`(_ engine: Engine) async throws {
        try await deliver(by: engine) { server, transport in
            var handlers: [OrderRecorder] = []
            for size: Int64 in [1, 1 << 20, 9 << 20] {
                let handler = OrderRecorder(Self.content, cancelsAt: size)
                let exchange = transport.start(
                    ExchangeRequest(url: server.url("/file"), headers: [:]), beside: nil, handler: handler)
                handler.start(exchange)
                await handler.hasEnded()
                handlers.append(handler)
            }
            await transport.shutdown()
            #expect(handlers.allSatisfy { $0.report.violations == [] && $0.report.endCount == 1 })
        }
    }

    #if ServerStack
    @Test(arguments: [Engine.nio, .httpClient])
    func `a gate may be opened by any thread, also by one that delivers other bodies`(
        _ engine: Engine
    ) async throws {
        try await deliver(by: engine) { server, transport in
            let opener = GateOpener()
            let handlers = (0..<4).map { _ in OrderRecorder(Self.content, opener: opener) }
            for handler in handlers {
                _ = transport.start(
                    ExchangeRequest(url: server.url("/file"), headers: [:]), beside: nil, handler: handler)
            }
            for handler in handlers { await handler.hasEnded() }
            #expect(handlers.allSatisfy { $0.report == .init(byteCount: Self.content.length, endCount: 1) })
        }
    }

    @Test(arguments: [Engine.nio, .httpClient])
    func `an engine delivers no more at once than a limited exchange takes`(_ engine: Engine) async throws {
        try await deliver(by: engine) { server, transport in
            let handler = OrderRecorder(Self.content, longestPart: 5_000)
            _ = transport.start(ExchangeRequest(url: server.url("/file"), headers: [:]), beside: nil, handler: handler)
            await handler.hasEnded()
            await transport.shutdown()
            #expect(handler.report == .init(byteCount: Self.content.length, endCount: 1))
        }
    }
    #endif

    @Test(arguments: Engine.allCases)
    func `every byte before a lost connection is delivered to a slow handler`(_ engine: Engine) async throws {
        let cut: Int64 = 5_000_000
        // The result doesn't depend on how soon a busy machine runs the thread of the handler.
        try await deliver(by: engine, longestBlock: .seconds(3600)) { server, transport in
            for number in 0..<20 {
                server.serve(Resource(Self.content, script: [[.cut(after: cut)]]), at: "/cut\(number)")
                let handler = OrderRecorder(Self.content, usesGates: false)
                _ = transport.start(
                    ExchangeRequest(url: server.url("/cut\(number)"), headers: [:]), beside: nil, handler: handler)
                await handler.hasEnded()
                #expect(handler.report == .init(byteCount: cut, endCount: 1))
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `bytes before a lost connection wait for a handler that holds them back`(_ engine: Engine) async throws {
        let cut: Int64 = 400_000
        try await deliver(by: engine) { server, transport in
            for number in 0..<20 {
                server.serve(
                    Resource(Self.content, script: [[.cut(after: cut)]]).chunked, at: "/chunked\(number)")
                let handler = OrderRecorder(Self.content, alwaysHoldsBack: true)
                _ = transport.start(
                    ExchangeRequest(url: server.url("/chunked\(number)"), headers: [:]), beside: nil, handler: handler)
                await handler.hasEnded()
                #expect(handler.report == .init(byteCount: cut, endCount: 1))
            }
        }
    }

    private func deliver(
        by engine: Engine, longestBlock: Duration = .milliseconds(100),
        _ body: @Sendable @escaping (LoopbackServer, any Transport) async throws -> Void
    ) async throws {
        let transport = engine.makeTransport(longestBlock: longestBlock)
        try await LoopbackServer.withServer { server in
            server.serve(Resource(Self.content), at: "/file")
            try await body(server, transport)
        }
        await transport.shutdown()
    }
}

extension Resource {
    /// The resource in chunks; several chunks are read at once.
    fileprivate var chunked: Self {
        var resource = self
        resource.framing = .chunked
        return resource
    }
}

/// Gates that are opened by the next callback of any exchange, and by another thread if there is none.
private final class GateOpener: Sendable {
    private let gates = Mutex<[@Sendable () -> Void]>([])

    func openAll() {
        let all = gates.withLock { gates in
            defer { gates = [] }
            return gates
        }
        for open in all { open() }
    }

    func add(_ open: @escaping @Sendable () -> Void) {
        gates.withLock { $0.append(open) }
        DispatchQueue.global().async { self.openAll() }
    }
}

/// A handler that checks the order of its callbacks, and holds back the engine at some of them.
private final class OrderRecorder: ExchangeHandler {
    struct Report: Equatable {
        var byteCount: Int64 = 0
        var endCount = 0
        var violations: Set<String> = []
    }

    private struct State {
        var report = Report()
        var isInCallback = false
        var gate: Gate?
        var random = SplitMix64(seed: 3)
        var exchange: (any Exchange)?
        var cancels = false
    }

    private let content: Content
    private let cancelsAt: Int64?
    private let usesGates: Bool
    let longestPart: Int?
    private let opener: GateOpener?
    private let alwaysHoldsBack: Bool
    private let state = Mutex(State())
    private let end = AsyncStream.makeStream(of: Void.self)

    init(
        _ content: Content, cancelsAt size: Int64? = nil, usesGates: Bool = true, longestPart: Int? = nil,
        opener: GateOpener? = nil, alwaysHoldsBack: Bool = false
    ) {
        self.content = content
        cancelsAt = size
        self.usesGates = usesGates
        self.longestPart = longestPart
        self.opener = opener
        self.alwaysHoldsBack = alwaysHoldsBack
    }

    var report: Report { state.withLock(\.report) }

    func hasEnded() async { for await _ in end.stream {} }

    /// Stores the exchange, which may have delivered enough to be canceled.
    func start(_ exchange: any Exchange) {
        let cancelsNow = state.withLock { state in
            state.exchange = exchange
            return state.cancels
        }
        if cancelsNow { exchange.cancel() }
    }

    func exchangeReceivedHead(_ head: ResponseHead) -> Readiness { .ready }

    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness {
        let offset = state.withLock { state in
            if state.isInCallback { state.report.violations.insert("concurrent callbacks") }
            if state.gate != nil { state.report.violations.insert("bytes behind a shut gate") }
            if let longestPart, bytes.count > longestPart { state.report.violations.insert("a long part") }
            if state.report.endCount > 0 { state.report.violations.insert("bytes after the end") }
            state.isInCallback = true
            return state.report.byteCount
        }
        opener?.openAll()
        let isRight = content.matches(bytes, at: offset)
        let (gate, exchange) = state.withLock { state -> (Gate?, (any Exchange)?) in
            if !isRight { state.report.violations.insert("bytes out of order") }
            state.isInCallback = false
            state.report.byteCount += Int64(bytes.count)
            if let cancelsAt, state.report.byteCount >= cancelsAt, !state.cancels {
                state.cancels = true
                return (nil, state.exchange)
            }
            guard usesGates, alwaysHoldsBack || state.random.next() % 4 == 0 else { return (nil, nil) }
            state.gate = Gate()
            return (state.gate, nil)
        }
        exchange?.cancel()
        guard let gate else { return .ready }
        let open: @Sendable () -> Void = { [self] in
            state.withLock { $0.gate = nil }
            gate.open()
        }
        if let opener { opener.add(open) } else { DispatchQueue.global().async(execute: open) }
        return .notYet(gate)
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        state.withLock { state in
            if state.isInCallback { state.report.violations.insert("an end during a callback") }
            state.report.endCount += 1
        }
        self.end.continuation.finish()
    }
}
