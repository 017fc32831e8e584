#if ServerStack && os(Linux)
import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the engine over SwiftNIO with servers that violate HTTP.
@Suite(.endsWhenHung)
struct NIOTransportTests {
    private static func response(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// Performs requests one after another, and returns the body or the error of each.
    private func fetch(_ count: Int, from scripts: [RawServer.Script]) async throws -> ([String], RawServer) {
        let server = try RawServer(scripts)
        let transport = NIOTransport(connectTimeout: .seconds(900))
        var results: [String] = []
        for _ in 0..<count {
            let recorder = BodyRecorder()
            _ = transport.start(ExchangeRequest(url: try server.url(), headers: [:]), beside: nil, handler: recorder)
            results.append(await recorder.result())
        }
        await transport.shutdown()
        return (results, server)
    }

    @Test func `a connection is used again`() async throws {
        let (results, server) = try await fetch(2, from: [[Self.response("one"), Self.response("two")]])
        #expect(results == ["one", "two"])
        #expect(server.count == (1, 2))
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 200 OK\r\nContent-",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "x", "garbage\r\n\r\n",
    ])
    func `bytes behind a response end the connection`(_ rest: String) async throws {
        let (results, server) = try await fetch(
            2, from: [[Self.response("one") + rest, Self.response("evil")], [Self.response("two")]])
        #expect(results == ["one", "two"])
        #expect(server.count == (2, 2))
    }

    @Test func `a partial head behind a chunked response ends the connection`() async throws {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n"
        let (results, server) = try await fetch(
            3, from: [[chunked, chunked + "HTTP/1.1 200 OK\r\nX: "], [Self.response("two")]])
        #expect(results == ["one", "one", "two"])
        #expect(server.count == (2, 3))
    }

    @Test func `a request is sent again once if a kept connection is closed before the head`() async throws {
        let (results, server) = try await fetch(2, from: [[Self.response("one"), ""], [Self.response("two")]])
        #expect(results == ["one", "two"])
        #expect(server.count == (2, 3))
    }

    @Test func `a request is not sent again if a new connection is closed before the head`() async throws {
        let (results, server) = try await fetch(2, from: [[Self.response("one"), ""], [""], [Self.response("two")]])
        #expect(results == ["one", "connectionLost"])
        #expect(server.count == (2, 3))
    }

    @Test(arguments: [
        (String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 17) + response("late"), "malformedResponse"),
        (String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 16) + response("late"), "late"),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "malformedResponse"),
        ("HTTP/1.1 200 " + String(repeating: "a", count: 4 << 20), "malformedResponse"),
        (
            "HTTP/1.1 200 OK\r\n" + String(repeating: "A: \(String(repeating: "b", count: 9000))\r\n", count: 99),
            "malformedResponse"
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""), ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", ""),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "connectionLost"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "connectionLost"),
        ("HTTP/2.0 200 OK\r\n\r\n", "malformedResponse"),
    ])
    func `a response is bounded and complete`(_ response: String, _ result: String) async throws {
        let (results, _) = try await fetch(1, from: [[response]])
        #expect(results == [result])
    }

    /// With a proxy, the listener is the proxy, and what is unanswered is the tunnel or the handshake in front of it.
    @Test(arguments: [nil, "http", "https", "socks5"] as [String?])
    func `an exchange is canceled at once while a handshake or a tunnel is unanswered`(_ proxy: String?) async throws {
        let listener = try ListeningSocket()
        defer { close(listener.descriptor) }
        let choice = try proxy.map { ProxyChoice.server(try listener.url($0)) }
        let transport = NIOTransport(connectTimeout: .seconds(3600), proxy: choice ?? .none)
        let recorder = BodyRecorder()
        let request = ExchangeRequest(url: try listener.url("https"), headers: [:])
        let exchange = transport.start(request, beside: nil, handler: recorder)
        let client = await listener.waitForByte()
        defer { close(client) }
        exchange.cancel()
        #expect(await recorder.result() == "cancelledWhileConnecting")
        await transport.shutdown()
    }
}
#endif
