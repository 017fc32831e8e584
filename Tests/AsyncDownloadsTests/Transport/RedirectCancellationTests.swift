import AsyncDownloads
import Dispatch
import LoopbackServer
import TestSupport
import Testing

/// Tests of exchanges that are canceled between a redirect's head and the adapter's refusal to follow it.
@Suite(.endsWhenHung) struct RedirectCancellationTests {
    @Test(arguments: Engine.allCases)
    func `a redirect that races with a cancellation ends the exchange exactly once`(_ engine: Engine) async throws {
        let transport = engine.makeTransport()
        try await LoopbackServer.withServer { server in
            server.serve(Resource(Content(seed: 1, length: 10)), at: "/plain")
            var redirect = Resource("")
            redirect.script = [[.redirect(location: "/plain")]]
            redirect.repeatsLastStep = true
            server.serve(redirect, at: "/redirect")

            // URLSession calls back on a serial queue, so a blocked callback delays the refusals of the redirects.
            let blocker = EndRecorder(blocks: true)
            _ = transport.start(ExchangeRequest(url: server.url("/plain"), headers: [:]), beside: nil, handler: blocker)
            await blocker.hasHead()
            let recorders = (0..<50).map { _ in EndRecorder(blocks: false) }
            let exchanges = recorders.map { recorder in
                transport.start(
                    ExchangeRequest(url: server.url("/redirect"), headers: [:]), beside: nil, handler: recorder)
            }
            if engine == .urlSession {
                // Only for URLSession: the event loop of the other engine may be the blocked one.
                _ = await server.requests(at: "/redirect", reaching: recorders.count)
                await server.idle(at: "/redirect")
            }
            for exchange in exchanges { exchange.cancel() }
            blocker.unblock()
            for recorder in recorders { await recorder.hasEnded() }
            await blocker.hasEnded()
            await transport.shutdown()
            #expect(recorders.allSatisfy { $0.endCount == 1 })
        }
    }
}

/// A handler that counts the ends of its exchange and can block the engine's thread in the callback for the head.
private final class EndRecorder: ExchangeHandler {
    private let release: DispatchSemaphore?
    private let ends = Mutex(0)
    private let head = AsyncStream.makeStream(of: Void.self)
    private let end = AsyncStream.makeStream(of: Void.self)

    init(blocks: Bool) {
        release = blocks ? DispatchSemaphore(value: 0) : nil
    }

    var endCount: Int { ends.withLock { $0 } }

    func unblock() { release?.signal() }

    func hasHead() async { for await _ in head.stream {} }
    func hasEnded() async { for await _ in end.stream {} }

    func exchangeReceivedHead(_ head: ResponseHead) -> Readiness {
        self.head.continuation.finish()
        release?.wait()
        return .ready
    }

    func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness { .ready }

    func exchangeEnded(_ end: ExchangeEnd) {
        ends.withLock { $0 += 1 }
        head.continuation.finish()
        self.end.continuation.finish()
    }
}
