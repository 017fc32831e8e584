internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The choice of a URL session for each exchange.
@Suite(.endsWhenHung)
struct SessionSetTests {
    /// Waits until an exchange has ended.
    private final class EndHandler: ExchangeHandler {
        private let end = AsyncStream.makeStream(of: Void.self)
        let failure = Mutex<DownloadError.Code?>(nil)

        func ended() async { for await _ in end.stream {} }

        func exchangeReceivedHead(_ head: ResponseHead) -> Readiness { .ready }
        func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness { .ready }

        func exchangeEnded(_ end: ExchangeEnd) {
            if case .failed(let error) = end { failure.withLock { $0 = error.code } }
            self.end.continuation.finish()
        }
    }

    private func sessions(_ set: SessionSet, _ areFurther: [Bool]) -> [ObjectIdentifier] {
        areFurther.map { ObjectIdentifier(set.begin(isFurther: $0).session) }
    }

    @Test func `further exchanges of a file have sessions of their own, and first ones share a session`() {
        let set = SessionSet(capacity: 4, connectionCount: 4)
        let chosen = sessions(set, [false, true, true, true, false])
        #expect(Set(chosen[0...3]).count == 4)
        #expect(chosen[4] == chosen[0])
        let second = sessions(set, [true, true, true])
        #expect(Set(second) == Set(chosen[1...3]), "each is used a second time before one is used a third time")
        set.close()
    }

    @Test func `one session serves all exchanges if there may be no other`() {
        let set = SessionSet(capacity: 1, connectionCount: 4)
        #expect(Set(sessions(set, [false, true, true])).count == 1)
        set.close()
    }

    @Test func `the session of an exchange that has ended is used again`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(Content(seed: 1, length: 10)), at: "/file")
            let set = SessionSet(capacity: 16, connectionCount: 4)
            let member = set.begin(isFurther: true)
            #expect(member.delegate.exchangeCount == 1)
            let handler = EndHandler()
            let url = server.url("/file")
            member.delegate.makeTask({ member.session.dataTask(with: url) }, handler: handler)?.resume()
            await handler.ended()
            #expect(set.begin(isFurther: true).session === member.session)
            #expect(set.begin(isFurther: true).session !== member.session)
            set.close()
        }
    }

    @Test func `after the shutdown, every exchange fails, and no session is created`() async throws {
        let transport = URLSessionTransport()
        await transport.shutdown()
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        var neighbor: (any Exchange)?
        for _ in 0..<3 {
            let handler = EndHandler()
            neighbor = transport.start(ExchangeRequest(url: url, headers: [:]), beside: neighbor, handler: handler)
            await handler.ended()
            #expect(handler.failure.withLock { $0 } == .shutDown)
        }
    }
}
