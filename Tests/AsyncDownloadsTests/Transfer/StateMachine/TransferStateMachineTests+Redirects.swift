internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Redirects and the credentials that are sent along them (rules 10 and 11).
@Suite(.endsWhenHung)
struct TransferRedirectTests {
    private static func harness() -> StateMachineHarness {
        .connecting {
            $0.headers = CallerHeaders(["Authorization": "Bearer x", "X-Own": "y"], nonsecretNames: ["x-own"])
        }
    }

    @Test
    func `a redirect is followed with the same permit in a new exchange`() throws {
        var harness = Self.harness()
        harness.head(302, ["Location": "/other"])
        #expect(harness.done == ["cancel 1", "exchange 2 whole"])
        let request = try #require(harness.requests.last)
        #expect(request.url.absoluteString == "https://a.example/other")
        #expect(request.headers["Authorization"] == "Bearer x")
    }

    @Test
    func `rule 11: credentials are not sent to other origins, nor after a redirect back`() throws {
        var harness = Self.harness()
        harness.head(302, ["Location": "https://b.example/"])
        harness.head(302, ["Location": "https://a.example/file"])
        #expect(harness.requests.map(\.url.absoluteString) == ["https://b.example/", "https://a.example/file"])
        for request in harness.requests {
            #expect(request.headers["Authorization"] == nil)
            #expect(request.headers["X-Own"] == "y")
        }
    }

    @Test
    func `rules 10 and 11: a redirected resumption keeps its condition but not its credentials`() throws {
        var harness = StateMachineHarness.resuming { $0.headers = ["Cookie": "x"] }
        harness.head(307, ["Location": "https://b.example/"])
        let request = try #require(harness.requests.last)
        #expect(request.headers["If-Range"] == "\"v1\"")
        #expect(request.headers["Range"] == "bytes=50-")
        #expect(request.headers["Cookie"] == nil)
    }

    @Test
    func `a short body of a redirect is drained, and a long one is canceled`() {
        var harness = Self.harness()
        harness.head(302, ["Location": "/b", "Content-Length": "100"])
        #expect(harness.done.isEmpty)
        #expect(harness.bytes(100) == nil)
        harness.end()
        #expect(harness.done == ["exchange 2 whole"])
        harness.head(302, ["Location": "/c", "Content-Length": "100000"])
        #expect(harness.done == ["exchange 2 whole", "cancel 2", "exchange 3 whole"])
    }

    @Test
    func `an invalid redirect and a redirect loop fail the transfer`() {
        var harness = Self.harness()
        harness.head(302, ["Location": "http://a.example/"])
        #expect(harness.failure?.code == .redirectRefused)
        harness = Self.harness()
        harness.head(302)
        #expect(harness.failure?.code == .redirectRefused)
        harness = Self.harness()
        for _ in 0..<20 {
            harness.head(302, ["Location": "/again"])
            #expect(harness.failure == nil)
        }
        harness.head(302, ["Location": "/again"])
        #expect(harness.failure?.code == .tooManyRedirects)
    }

    @Test
    func `rule 10: a retry starts at the requested URL with its credentials`() {
        var harness = Self.harness()
        harness.head(302, ["Location": "https://b.example/signed"])
        harness.lose()
        harness.pass(.seconds(60))
        #expect(harness.requests.last?.url.absoluteString == "https://a.example/file")
        #expect(harness.requests.last?.headers["Authorization"] == "Bearer x")
    }

    @Test
    func `rule 10: a resumption after a pause starts at the requested URL`() {
        var harness = Self.harness()
        harness.head(302, ["Location": "https://b.example/signed"])
        harness.stop(.pause)
        harness.run()
        #expect(harness.requests.last?.url.absoluteString == "https://a.example/file")
        #expect(harness.requests.last?.headers["Authorization"] == "Bearer x")
    }

    @Test
    func `the rest of a short part is requested from the URL that sent the part`() {
        var harness = StateMachineHarness.resuming()
        harness.head(302, ["Location": "https://b.example/signed"])
        harness.head(206, ["Content-Range": "bytes 50-59/100"])
        harness.bytes(10)
        harness.end()
        #expect(harness.requests.last?.url.absoluteString == "https://b.example/signed")
    }
}
