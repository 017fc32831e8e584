internal import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite(.endsWhenHung)
struct LoopbackServerTests {
    private let content = Content(seed: 3, length: 300_000)

    @Test func `a connection is reused, and its requests are recorded in order`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content), at: "file")
            let client = try RawClient(port: server.port)
            let whole = try client.exchange("/file?a=b", ["X-Test": "1"])
            #expect(whole.body == content.bytes(in: 0..<300_000))
            let part = try client.exchange("/file", ["Range": "bytes=1000-1999"])
            #expect(part.head.status == 206)
            #expect(part.head["Content-Range"] == "bytes 1000-1999/300000")
            #expect(part.body == content.bytes(in: 1000..<2000))
            #expect(try client.exchange("/nothing").head.status == 404)

            let requests = server.requests(at: "file")
            #expect(requests.map(\.status) == [200, 206])
            #expect(requests.map(\.query) == ["a=b", nil])
            #expect(requests[0]["x-test"] == "1")
            #expect(Set(server.requests().map(\.connection)).count == 1)
            #expect(server.requests().map(\.number) == [1, 2, 3])
            #expect(server.bodyBytesSent(at: "file") == 301_000)
        }
    }

    @Test func `a server that does not record requests responds to them`() async throws {
        try await LoopbackServer.withServer(keepsRequests: false) { server in
            server.serve(Resource(content, script: [[.status(503)]]), at: "file")
            let client = try RawClient(port: server.port)
            #expect(try (0..<3).map { _ in try client.exchange("/file").head.status } == [503, 200, 200])
            #expect(server.requests().isEmpty)
            #expect(server.bodyBytesSent(at: "file") == 600_000)
        }
    }

    @Test func `a URL contains the path and the query, and the leading slash is optional`() async throws {
        try await LoopbackServer.withServer { server in
            #expect(server.url("a/b?c=d").absoluteString == "http://127.0.0.1:\(server.port)/a/b?c=d")
            #expect(server.url("/a") == server.url("a"))
        }
    }

    @Test(arguments: [false, true])
    func `the steps of a script apply in order, and the last one is repeated if requested`(repeats: Bool) async throws {
        try await LoopbackServer.withServer { server in
            var resource = Resource(content, entityTag: "\"v1\"", script: [[.retryAfter("1")], [], [.status(500)]])
            resource.repeatsLastStep = repeats
            server.serve(resource, at: "file")
            let client = try RawClient(port: server.port)
            let statuses = try (0..<5).map { _ in try client.exchange("/file").head.status }
            #expect(statuses == [503, 200, 500] + (repeats ? [500, 500] : [200, 200]))

            server.serve(resource, at: "file")
            #expect(try client.exchange("/file").head.status == 503)
        }
    }

    @Test func `replaced content applies to all later requests`() async throws {
        try await LoopbackServer.withServer { server in
            let other = Content(seed: 4, length: 10)
            server.serve(
                Resource(content, entityTag: "\"v1\"", script: [[], [.replaceContent(other, entityTag: "\"v2\"")]]),
                at: "file")
            let client = try RawClient(port: server.port)
            _ = try client.exchange("/file")
            for _ in 0..<2 {
                let answer = try client.exchange("/file", ["Range": "bytes=5-", "If-Range": "\"v1\""])
                #expect(answer.head.status == 200)
                #expect(answer.head["ETag"] == "\"v2\"")
                #expect(answer.body == other.bytes(in: 0..<10))
            }
        }
    }

    @Test(arguments: ConnectionEnd.allCases, [0, 1, 100_000] as [Int64])
    func `a body is cut after exactly the scripted number of bytes`(closing: ConnectionEnd, length: Int64) async throws
    {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, script: [[.cut(after: length, closing)]]), at: "file")
            let client = try RawClient(port: server.port)
            try client.request("/file")
            #expect(try client.head()["Content-Length"] == "300000")
            let rest = try client.readToEnd()
            #expect(rest.bytes == content.bytes(in: 0..<length))
            #expect(rest.end == (closing == .orderly ? .closed : .reset))
            #expect(server.bodyBytesSent(at: "file") == length)
        }
    }

    @Test func `a reset arrives after all earlier bytes of a long body`() async throws {
        try await LoopbackServer.withServer { server in
            let large = Content(seed: 5, length: 20_000_000)
            server.serve(Resource(large, script: [[.cut(after: 19_999_999, .reset)]]), at: "file")
            let client = try RawClient(port: server.port)
            try client.request("/file")
            _ = try client.head()
            let rest = try client.readToEnd()
            #expect(rest.bytes.count == 19_999_999)
            #expect(rest.bytes.withUnsafeBytes { large.matches($0, at: 0) })
            #expect(rest.end == .reset)
        }
    }

    @Test func `a held head and a stalled body continue when they are released`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, script: [[.holdHead, .stall(after: 1000)]]), at: "file")
            let client = try RawClient(port: server.port)
            try client.request("/file")
            #expect(await server.requests(at: "file", reaching: 1).count == 1)
            server.release("file")
            _ = try client.head()
            #expect(try client.read(exactly: 1000) == content.bytes(in: 0..<1000))
            #expect(server.bodyBytesSent(at: "file") == 1000)
            server.release("file")
            #expect(try client.read(exactly: 299_000) == content.bytes(in: 1000..<300_000))
            await server.idle(at: "file")
        }
    }

    @Test(arguments: [Fault.endless, .holdHead])
    func `a client that closes its connection ends an exchange that would not end otherwise`(fault: Fault) async throws
    {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, script: [[fault]]), at: "file")
            var client: RawClient? = try RawClient(port: server.port)
            try client?.request("/file")
            if fault == .endless { _ = try client?.read(exactly: 1_000_000) }
            #expect(await server.requests(at: "file", reaching: 1).count == 1)
            client = nil
            await server.idle(at: "file")
        }
    }

    @Test func `the server stops sending to a client that does not read`() async throws {
        try await LoopbackServer.withServer { server in
            let huge = Content(seed: 6, length: 1 << 40)
            server.serve(Resource(huge), at: "file")
            let client = try RawClient(port: server.port)
            try client.request("/file")
            #expect(try client.head()["Content-Length"] == "\(huge.length)")
            #expect(try client.read(exactly: 100_000) == huge.bytes(in: 0..<100_000))
            // After a hundred exchanges on the same event loop, the server has certainly stopped sending.
            server.serve(Resource("x"), at: "other")
            let other = try RawClient(port: server.port)
            for _ in 0..<100 { _ = try other.exchange("/other") }
            #expect(server.bodyBytesSent(at: "file") < 100_000_000)
        }
    }

    @Test func `a wait for sent bytes returns when they have been sent`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, script: [[.stall(after: 200_000)]]), at: "file")
            let client = try RawClient(port: server.port)
            try client.request("/file")
            await server.bodyBytesSent(at: "file", reaching: 200_000)
            #expect(server.bodyBytesSent(at: "file") == 200_000)
            server.release("file")
            await server.bodyBytesSent(at: "file", reaching: 300_000)
            #expect(server.bodyBytesSent(at: "file") == 300_000)
            await server.bodyBytesSent(at: "file", reaching: 1)
        }
    }

    @Test func `a throttled body arrives completely`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, script: [[.throttle(bytesPerSecond: 30_000_000)]]), at: "file")
            let client = try RawClient(port: server.port)
            #expect(try client.exchange("/file").body == content.bytes(in: 0..<300_000))
        }
    }

    @Test func `a server that ignores its input while it sends reads the next request afterward`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, script: [[.ignoreInput], [.ignoreInput]]), at: "file")
            let client = try RawClient(port: server.port)
            for _ in 1...3 { #expect(try client.exchange("/file").body == content.bytes(in: 0..<300_000)) }
            #expect(Set(server.requests().map(\.connection)).count == 1)
        }
    }

    // More connections would need so many descriptors that Foundation can't start the processes of other tests.
    @Test func `hundreds of concurrent connections are served`() async throws {
        try await LoopbackServer.withServer(threads: 2) { server in
            server.serve(Resource(content), at: "file")
            RawClient.raiseDescriptorLimit()
            let clients = try (0..<250).map { _ in try RawClient(port: server.port) }
            for client in clients { try client.request("GET", "/file", ["Range": "bytes=7-"]) }
            for client in clients {
                #expect(try client.head().status == 206)
                let body = try client.read(exactly: 299_993)
                #expect(body.withUnsafeBytes { content.matches($0, at: 7) })
            }
        }
    }

    @Test func `stopping closes stalled connections and ends waits, and can be repeated`() async throws {
        let server = try await LoopbackServer.start()
        server.serve(Resource(content, script: [[.stall(after: 0)]]), at: "file")
        let client = try RawClient(port: server.port)
        try client.request("/file")
        _ = try client.head()
        async let requests = server.requests(at: "file", reaching: 2)
        try await server.stop()
        #expect(await requests.count == 1)
        #expect(try client.readToEnd().bytes.isEmpty)
        try await server.stop()
        await server.idle(at: "file")
    }

    @Test func `a canceled wait returns the requests that have arrived`() async throws {
        try await LoopbackServer.withServer { server in
            let wait = Task { await server.requests(at: "file", reaching: 1) }
            wait.cancel()
            #expect(await wait.value.isEmpty)
        }
    }
}
