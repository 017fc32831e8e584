internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, redirects", .endsWhenHung)
struct TransferRedirectTests {
    private static func stage() -> MachineStage {
        .connecting {
            $0.headers = CallerHeaders(["Authorization": "Bearer x", "X-Own": "y"], nonsecretNames: ["x-own"])
        }
    }

    @Test("a redirect is followed under the same permit and by a new exchange")
    func followed() throws {
        var stage = Self.stage()
        stage.head(302, ["Location": "/other"])
        #expect(stage.done == ["cancel 1", "exchange 2 whole"])
        let request = try #require(stage.requests.last)
        #expect(request.url.absoluteString == "https://a.example/other")
        #expect(request.headers["Authorization"] == "Bearer x")
    }

    @Test("rule 11: credentials do not cross origins, and no later hop brings them back")
    func credentials() throws {
        var stage = Self.stage()
        stage.head(302, ["Location": "https://b.example/"])
        stage.head(302, ["Location": "https://a.example/file"])
        #expect(stage.requests.map(\.url.absoluteString) == ["https://b.example/", "https://a.example/file"])
        for request in stage.requests {
            #expect(request.headers["Authorization"] == nil)
            #expect(request.headers["X-Own"] == "y")
        }
    }

    @Test("rules 10 and 11: a resumption is redirected with its condition and without credentials")
    func resumption() throws {
        var stage = MachineStage.resuming { $0.headers = ["Cookie": "x"] }
        stage.head(307, ["Location": "https://b.example/"])
        let request = try #require(stage.requests.last)
        #expect(request.headers["If-Range"] == "\"v1\"")
        #expect(request.headers["Range"] == "bytes=50-")
        #expect(request.headers["Cookie"] == nil)
    }

    @Test("a short body of a redirect is left to run out, a long one is cut off")
    func bodies() {
        var stage = Self.stage()
        stage.head(302, ["Location": "/b", "Content-Length": "100"])
        #expect(stage.done.isEmpty)
        #expect(stage.bytes(100) == nil)
        stage.end()
        #expect(stage.done == ["exchange 2 whole"])
        stage.head(302, ["Location": "/c", "Content-Length": "100000"])
        #expect(stage.done == ["exchange 2 whole", "cancel 2", "exchange 3 whole"])
    }

    @Test("a redirect that leads nowhere, or goes on for ever, fails")
    func refusals() {
        var stage = Self.stage()
        stage.head(302, ["Location": "http://a.example/"])
        #expect(stage.failure?.code == .redirectRefused)
        stage = Self.stage()
        stage.head(302)
        #expect(stage.failure?.code == .redirectRefused)
        stage = Self.stage()
        for _ in 0..<20 {
            stage.head(302, ["Location": "/again"])
            #expect(stage.failure == nil)
        }
        stage.head(302, ["Location": "/again"])
        #expect(stage.failure?.code == .tooManyRedirects)
    }

    @Test("rule 10: a retry begins at the URL that was asked for, with its credentials")
    func retry() {
        var stage = Self.stage()
        stage.head(302, ["Location": "https://b.example/signed"])
        stage.lose()
        stage.pass(.seconds(60))
        #expect(stage.requests.last?.url.absoluteString == "https://a.example/file")
        #expect(stage.requests.last?.headers["Authorization"] == "Bearer x")
    }

    @Test("rule 10: a resumption after a pause begins at the URL that was asked for")
    func afterPause() {
        var stage = Self.stage()
        stage.head(302, ["Location": "https://b.example/signed"])
        stage.stop(.pause)
        stage.run()
        #expect(stage.requests.last?.url.absoluteString == "https://a.example/file")
        #expect(stage.requests.last?.headers["Authorization"] == "Bearer x")
    }

    @Test("the rest of a short part comes from where the part came from")
    func windows() {
        var stage = MachineStage.resuming()
        stage.head(302, ["Location": "https://b.example/signed"])
        stage.head(206, ["Content-Range": "bytes 50-59/100"])
        stage.bytes(10)
        stage.end()
        #expect(stage.requests.last?.url.absoluteString == "https://b.example/signed")
    }
}
