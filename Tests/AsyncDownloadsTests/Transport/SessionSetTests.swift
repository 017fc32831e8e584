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
        let readiness = Mutex(Readiness.ready)

        func ended() async { for await _ in end.stream {} }

        func exchangeReceivedHead(_ head: ResponseHead) -> Readiness { readiness.withLock { $0 } }
        func exchangeReceivedBytes(_ bytes: UnsafeRawBufferPointer) -> Readiness { .ready }

        func exchangeEnded(_ end: ExchangeEnd) {
            if case .failed(let error) = end { failure.withLock { $0 = error.code } }
            self.end.continuation.finish()
        }
    }

    private func sessions(_ set: SessionSet, _ areFurther: [Bool]) -> [ObjectIdentifier] {
        areFurther.map { ObjectIdentifier(set.begin(isFurther: $0).session) }
    }

    @Test func `each further exchange of a file has another session, and first ones share a session`() {
        let set = SessionSet(furtherCapacity: 3, connectionCount: 4)
        let chosen = sessions(set, [false, true, true, true, false])
        #expect(Set(chosen[0...3]).count == 4)
        #expect(chosen[4] == chosen[0])
        let second = sessions(set, [true, true, true])
        #expect(Set(second) == Set(chosen[1...3]), "each is used a second time before one is used a third time")
        set.close()
    }

    @Test func `a further exchange doesn't use the first session, whose connection the next file shares`() {
        let set = SessionSet(connectionCount: 4)
        let chosen = sessions(set, [true, false])
        #expect(chosen[0] != chosen[1])
        set.close()
    }

    @Test func `a closed set has no further sessions, which would never be invalidated`() {
        let set = SessionSet(connectionCount: 4)
        let first = set.begin(isFurther: false)
        set.close()
        #expect(set.begin(isFurther: true).session === first.session)
        #expect(set.begin(isFurther: true).session === first.session)
    }

    @Test func `the transport has another session for an exchange beside another one`() async throws {
        let transport = URLSessionTransport()
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let request = ExchangeRequest(url: url, headers: [:])
        let handlers = (EndHandler(), EndHandler())
        let first = transport.start(request, beside: nil, handler: handlers.0)
        let second = transport.start(request, beside: first, handler: handlers.1)
        let delegates = [first, second].compactMap { ($0 as? URLSessionExchange)?.delegate }
        #expect(delegates.count == 2 && delegates[0] !== delegates[1])
        await handlers.0.ended()
        await handlers.1.ended()
        await transport.shutdown()
    }

    @Test func `the first exchange of another file releases the sessions without an exchange`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(Content(seed: 1, length: 10)), at: "/file")
            let set = SessionSet(connectionCount: 4)
            let running = set.begin(isFurther: true)
            var idle: SessionSet.Member? = set.begin(isFurther: true)
            weak let delegate = idle?.delegate
            if let member = idle {
                let (handler, url) = (EndHandler(), server.url("/file"))
                member.delegate.makeTask({ member.session.dataTask(with: url) }, handler: handler)?.resume()
                await handler.ended()
            }
            idle = nil
            #expect(delegate != nil)
            _ = set.begin(isFurther: false)
            // A session retains its delegate until it is invalidated.
            while delegate != nil { await Task.yield() }
            #expect(running.delegate.exchangeCount == 1)
            set.close()
        }
    }

    @Test func `an exchange counts until its end was reported, which may be held back`() async throws {
        let set = SessionSet(connectionCount: 4)
        let member = set.begin(isFurther: true)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let (handler, gate) = (EndHandler(), Gate())
        handler.readiness.withLock { $0 = .notYet(gate) }
        let task = try #require(
            member.delegate.makeTask({ member.session.dataTask(with: url) }, handler: handler))
        let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: [:]))
        member.delegate.urlSession(member.session, dataTask: task, didReceive: response) { _ in }
        member.delegate.urlSession(member.session, task: task, didCompleteWithError: nil)
        #expect(member.delegate.exchangeCount == 1)
        gate.open()
        await handler.ended()
        #expect(member.delegate.exchangeCount == 0)
        set.close()
    }

    @Test func `the session of an exchange that has ended is used again`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(Content(seed: 1, length: 10)), at: "/file")
            let set = SessionSet(connectionCount: 4)
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

    @Test func `after the shutdown, every exchange fails`() async throws {
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
