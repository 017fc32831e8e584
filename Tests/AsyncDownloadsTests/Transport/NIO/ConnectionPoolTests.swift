#if ServerStack
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import AsyncDownloads

/// The bounds of a connection pool, and what it does when descriptors run short.
@Suite(.endsWhenHung)
struct ConnectionPoolTests {
    @Test func `idle connections are bounded over all origins, and the oldest are closed`() async throws {
        let fixture = PoolFixture(idleCount: 2)
        var idle: [PoolFixture.Attempt] = []
        for host in ["a", "b", "c", "d"] { idle.append(try await fixture.leaveIdle(host)) }
        #expect(idle.map(\.isOpen) == [false, false, true, true])
        fixture.shutDown()
        #expect(idle.allSatisfy { !$0.isOpen })
        #expect(!fixture.budget.hasOpen)
    }

    @Test func `an idle connection is closed after a minute`() async throws {
        let fixture = PoolFixture()
        let old = try await fixture.leaveIdle("a")
        fixture.wait(.seconds(40))
        let new = try await fixture.leaveIdle("b")
        fixture.wait(.seconds(30))
        #expect((old.isOpen, new.isOpen) == (false, true))
        fixture.wait(.seconds(30))
        #expect(!new.isOpen)
    }

    @Test func `bytes on an idle connection close it`() async throws {
        let fixture = PoolFixture()
        let attempt = try await fixture.leaveIdle("a")
        try attempt.receive("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        #expect(!attempt.isOpen)
        _ = try await fixture.leaveIdle("a")
        #expect(fixture.attempts.count == 2)
    }

    @Test func `an exchange waits for a descriptor, for which an idle connection is closed`() async throws {
        let fixture = PoolFixture()
        let idle = try await fixture.leaveIdle("a")
        let (_, busy) = try fixture.start("b")
        try fixture.attempts[1].connect()
        fixture.isShort = true
        let (_, waiting) = try fixture.start("c")
        #expect(!idle.isOpen)
        #expect(fixture.attempts.count == 2)
        fixture.isShort = false
        try fixture.attempts[1].receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(await busy.result() == "")
        try #require(fixture.attempts.count == 3)
        try fixture.attempts[2].connect()
        try fixture.attempts[2].receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(await waiting.result() == "ok")
    }

    @Test func `idle connections of other event loops are closed as well when descriptors run short`() async throws {
        let (fixture, other) = { ($0, PoolFixture(beside: $0)) }(PoolFixture())
        let idle = try await other.leaveIdle("a")
        fixture.isShort = true
        _ = try fixture.start("b")
        #expect(!idle.isOpen)
    }

    @Test func `an attempt that finds no descriptor is repeated when others are closed`() async throws {
        let fixture = PoolFixture()
        _ = try fixture.start("a")
        let (_, recorder) = try fixture.start("b")
        fixture.attempts[1].fail(IOError(errnoCode: 24, reason: "socket"))
        #expect(fixture.attempts.count == 2)
        fixture.wait(.milliseconds(100))
        try #require(fixture.attempts.count == 3)
        try fixture.attempts[2].connect()
        try fixture.attempts[2].receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(await recorder.result() == "ok")
    }

    @Test func `an exchange fails if no descriptor is free for as long as a connection may take`() async throws {
        let fixture = PoolFixture()
        _ = try fixture.start("a")
        fixture.isShort = true
        let (_, recorder) = try fixture.start("b")
        fixture.wait(.seconds(31))
        #expect(await recorder.result() == "tooManyOpenFiles")
        #expect(fixture.attempts.count == 1)
    }

    @Test(arguments: [true, false])
    func `an exchange that is canceled frees its descriptor`(isConnected: Bool) async throws {
        let fixture = PoolFixture()
        let (exchange, recorder) = try fixture.start("a")
        if isConnected { try fixture.attempts[0].connect() }
        exchange.cancel()
        fixture.run()
        #expect(await recorder.result() == "cancelled")
        #expect(fixture.attempts[0].isCanceled != isConnected)
        #expect(!fixture.attempts[0].isOpen)
        #expect(!fixture.budget.hasOpen)
    }

    /// RFC 9112, 9.8: a closure without an alert may be a truncation.
    @Test(arguments: [(nil, "part"), (NIOSSLError.uncleanShutdown, "connectionLost")] as [(NIOSSLError?, String)])
    func `a body that ends with the connection needs a closing alert`(
        _ error: NIOSSLError?, _ result: String
    ) async throws {
        let fixture = PoolFixture()
        let (_, recorder) = try fixture.start("a")
        try fixture.attempts[0].connect()
        try fixture.attempts[0].receive("HTTP/1.1 200 OK\r\n\r\npart")
        try fixture.attempts[0].end(after: error)
        #expect(await recorder.result() == result)
        #expect(!fixture.budget.hasOpen)
    }
}
#endif
