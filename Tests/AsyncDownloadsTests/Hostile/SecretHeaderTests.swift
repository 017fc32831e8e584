internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of the caller's headers that are sent to other origins or written to disk.
@Suite(.endsWhenHung)
struct SecretHeaderTests {
    private static let content = Content(seed: 45, length: 300_000)

    static let secret = [
        "X-JFrog-Art-Api", "X-AuthToken", "Cf-Access-Jwt-Assertion", "AccessToken", "X-WSSE", "X-Request-Id", "Referer",
        "Origin", "Authorization", "Cookie", "Proxy-Authorization", "X-Custom",
    ]
    static let open = [
        "Accept", "Accept-Language", "User-Agent", "Cache-Control", "Pragma", "Want-Repr-Digest", "Want-Content-Digest",
        "DNT", "Sec-GPC",
    ]

    @Test(arguments: Engine.allCases, [secret, open])
    func `boundary 4: only headers on the list are sent to other origins and recorded`(
        _ engine: Engine, _ names: [String]
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            try await LoopbackServer.withServer { other async throws in
                let isPublic = names == Self.open
                let target = other.url("/b").absoluteString
                environment.server.serve(Resource(Self.content, script: [[.redirect(location: target)]]), at: "/a")
                other.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: 100_000)]]), at: "/b")
                var request = environment.request("/a")
                for name in names { request.headers[name] = "s3cret" }
                request.retryPolicy = .never
                _ = await environment.result(of: request)
                let (first, crossed) = (
                    try #require(environment.server.requests().first), try #require(other.requests().first)
                )
                for name in names {
                    #expect(first[name] == "s3cret")
                    #expect((crossed[name] == "s3cret") == isPublic, "\(name)")
                }
                for file in try environment.leftovers where file.hasSuffix(".checkpoint") {
                    let text = String(
                        decoding: try Data(contentsOf: environment.directory.appending(path: file)), as: UTF8.self)
                    #expect(text.contains("s3cret") == isPublic)
                }
                #expect("\(request.headers)".contains("s3cret") == isPublic)
            }
        }
    }

    @Test func `boundary 4: a declared header is sent to other origins, recorded, and restored`() async throws {
        try await TestEnvironment.with { environment async throws in
            try await LoopbackServer.withServer { other async throws in
                let target = other.url("/b").absoluteString
                var start = Resource(Self.content, script: [[.redirect(location: target)]])
                start.repeatsLastStep = true
                environment.server.serve(start, at: "/a")
                other.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: 100_000)]]), at: "/b")
                var request = environment.request("/a")
                request.headers = ["X-Edition": "evening"]
                request.nonsecretHeaders = ["x-EDITION"]
                request.retryPolicy = .never
                _ = await environment.result(of: request)
                let second = Downloader(configuration: environment.downloader.configuration)
                let restored = try #require(try await second.restore(in: environment.directory).first)
                restored.resume()
                #expect(try await restored.file.fetchedByteCount == Self.content.length - 100_000)
                #expect(other.requests().allSatisfy { $0["X-Edition"] == "evening" })
                await second.shutdown()
            }
        }
    }

    @Test(arguments: ["Authorization", "cookie", "PROXY-AUTHORIZATION", "", "a b", "a\r\nb"])
    func `boundary 4: credentials and malformed names cannot be declared as nonsecret headers`(
        _ name: String
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            var request = environment.request("/a")
            request.nonsecretHeaders = [name]
            #expect(await EventLog(of: environment.downloader.start(request)).error?.code == .invalidRequest)
            request = environment.request("/a")
            environment.server.serve(Resource(Self.content, script: [[.status(403)]]), at: "/a")
            request.refreshURL = URLRefresh { context in FreshURL(context.url, nonsecretHeaders: [name]) }
            #expect(await EventLog(of: environment.downloader.start(request)).error?.code == .invalidRequest)
            #expect(environment.server.requests().count == 1)
        }
    }

    @Test func `boundary 4: a token contains only nonsecret headers`() throws {
        let url = try #require(URL(string: "https://a.example/"))
        let token = try ResumeToken(
            url: url, receivedRanges: [0..<5], headers: ["Accept": "a", "X-Edition": "b", "X-AuthToken": "s3cret"],
            nonsecretHeaders: ["X-Edition"], account: "7", partialName: "x")
        #expect(token.headers == ["Accept": "a", "X-Edition": "b"])
        let text = String(decoding: try JSONEncoder().encode(token), as: UTF8.self)
        #expect(!text.contains("s3cret"))
        let read = try JSONDecoder().decode(ResumeToken.self, from: Data(text.utf8))
        #expect(read == token)
        let request = read.request(into: URL(fileURLWithPath: "/d", isDirectory: true))
        #expect(request.nonsecretHeaders == ["x-edition"])
        #expect(request.account == "7")
    }
}
