#if ServerStack
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import TestSupport
import Testing

@testable import AsyncDownloads

/// The bounds of a connection pool, and its behavior when only few descriptors are left.
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
        attempt.receive("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
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
        fixture.attempts[1].receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(await busy.result() == "")
        try #require(fixture.attempts.count == 3)
        try fixture.attempts[2].connect()
        fixture.attempts[2].receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(await waiting.result() == "ok")
    }

    @Test func `idle connections of other event loops are closed as well when descriptors run short`() async throws {
        let (fixture, other) = { ($0, PoolFixture(beside: $0)) }(PoolFixture())
        let idle = try await other.leaveIdle("a")
        fixture.isShort = true
        _ = try fixture.start("b")
        #expect(!idle.isOpen)
    }

    @Test func `connections that become idle while an exchange waits are closed`() async throws {
        let (fixture, other) = { ($0, PoolFixture(beside: $0)) }(PoolFixture())
        let (_, recorder) = try other.start("a")
        try other.attempts[0].connect()
        fixture.isShort = true
        _ = try fixture.start("b")
        other.attempts[0].receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(await recorder.result() == "")
        #expect(other.attempts[0].isOpen)
        fixture.wait(.milliseconds(100))
        #expect(!other.attempts[0].isOpen)
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
        fixture.attempts[2].receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
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
        #expect(await recorder.result() == (isConnected ? "cancelled" : "cancelledWhileConnecting"))
        #expect(fixture.attempts[0].isCanceled != isConnected)
        #expect(!fixture.attempts[0].isOpen)
        #expect(!fixture.budget.hasOpen)
    }

    @Test func `a connection is released after a body of several reads`() async throws {
        let fixture = PoolFixture()
        let (_, recorder) = try fixture.start("a")
        try fixture.attempts[0].connect()
        fixture.attempts[0].receive("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\none")
        fixture.attempts[0].receive("two")
        #expect(await recorder.result() == "onetwo")
        fixture.attempts[0].end(after: nil)
        #expect(fixture.attempts[0].connection == nil)
    }

    @Test(arguments: [nil, NIOSSLError.uncleanShutdown])
    func `a request on a new connection that ends before the head can be retried`(_ error: NIOSSLError?) async throws {
        let fixture = PoolFixture()
        let (_, recorder) = try fixture.start("a")
        try fixture.attempts[0].connect()
        fixture.attempts[0].end(after: error)
        #expect(await recorder.result() == "connectionLost")
        #expect(fixture.attempts.count == 1)
    }

    @Test func `late bytes of an earlier response repeat the request on a new connection, once`() async throws {
        let fixture = PoolFixture()
        let kept = try await fixture.leaveIdle("a")
        let (_, recorder) = try fixture.start("a")
        kept.receive("body of a response without one")
        try #require(fixture.attempts.count == 2)
        try fixture.attempts[1].connect()
        fixture.attempts[1].receive("no response")
        #expect(await recorder.result() == "malformedResponse")
        #expect(fixture.attempts.count == 2)
    }

    @Test func `a request is not sent a third time, even on a kept connection`() async throws {
        let fixture = PoolFixture()
        let kept = try await fixture.leaveIdle("a")
        let (_, recorder) = try fixture.start("a")
        let (_, other) = try fixture.start("a")
        try fixture.attempts[1].connect()
        fixture.isShort = true
        kept.end(after: nil)
        fixture.attempts[1].receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(await other.result() == "")
        fixture.attempts[1].end(after: nil)
        #expect(await recorder.result() == "connectionLost")
        #expect(fixture.attempts.count == 2)
    }

    @Test func `a proxy forwards requests to different origins over one connection`() async throws {
        let proxy = try #require(URL(string: "http://user:secret@proxy:3128"))
        let fixture = PoolFixture(proxy: .server(proxy, except: ["c"]))
        let first = try await fixture.leaveIdle("a")
        let (second, _) = try fixture.start("b:81")
        _ = try fixture.start("c")
        #expect(fixture.attempts.map(\.route.proxy?.description) == ["proxy:3128", nil])
        #expect(first.isOpen)
        #expect(second.request.head.uri == "http://b:81/file")
        #expect(second.request.head.headers["Host"] == ["b:81"])
        #expect(second.request.head.headers["Proxy-Authorization"] == ["Basic dXNlcjpzZWNyZXQ="])
        fixture.shutDown()
    }

    /// RFC 9112, 9.8: a closure without an alert may be a truncation.
    @Test(arguments: [(nil, "part"), (NIOSSLError.uncleanShutdown, "connectionLost")] as [(NIOSSLError?, String)])
    func `a body that ends with the connection needs a closing alert`(
        _ error: NIOSSLError?, _ result: String
    ) async throws {
        let fixture = PoolFixture()
        let (_, recorder) = try fixture.start("a")
        try fixture.attempts[0].connect()
        fixture.attempts[0].receive("HTTP/1.1 200 OK\r\n\r\npart")
        fixture.attempts[0].end(after: error)
        #expect(await recorder.result() == result)
        #expect(!fixture.budget.hasOpen)
    }
}
#endif
