import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Redirects, which are followed by the package's own rules (rules 10 and 11).
@Suite(.endsWhenHung)
struct RedirectFollowingTests {
    private let content = Content(seed: 6, length: 200_000)

    @Test(arguments: Engine.allCases, [301, 302, 303, 307, 308])
    func `redirects are followed, and the next attempt starts at the original URL`(
        _ engine: Engine, _ status: Int
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var start = Resource(content)
            start.script = [
                [.redirect(status: status, location: "/b?signature=1")], [.redirect(status: status, location: "b")],
            ]
            environment.server.serve(start, at: "/a")
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.cut(after: 50_000)]]), at: "/b")
            let log = await EventLog(of: environment.downloader.start(environment.request("/a")))
            #expect(log.error == nil)
            #expect(log.resumptions == [50_000])
            #expect(log.file?.finalURL == environment.server.url("/b"))
            #expect(try environment.holds(content))
            #expect(environment.server.requests(at: "/a").count == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 11: credentials are not sent to other origins, even for a resumption`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            try await LoopbackServer.withServer { other async throws in
                var start = Resource(content)
                start.script = [[.redirect(location: other.url("/b").absoluteString)]]
                start.repeatsLastStep = true
                environment.server.serve(start, at: "/a")
                other.serve(Resource(content, entityTag: "\"a\"", script: [[.cut(after: 50_000)]]), at: "/b")
                var request = environment.request("/a")
                request.headers = ["Authorization": "Bearer secret", "Cookie": "a=b", "X-Own": "kept"]
                request.nonsecretHeaders = ["X-Own"]
                _ = try await environment.downloader.download(request)
                #expect(environment.server.requests(at: "/a").allSatisfy { $0["Authorization"] == "Bearer secret" })
                let crossed = other.requests(at: "/b")
                #expect(crossed.count == 2)
                #expect(
                    crossed.allSatisfy { $0["Authorization"] == nil && $0["Cookie"] == nil && $0["X-Own"] == "kept" })
            }
        }
    }

    @Test
    func `a signed target that expires between two segments is requested again from the original URL`() async throws {
        try await TestEnvironment.with(.urlSession) { environment async throws in
            let content = Content(seed: 7, length: 9_000_000)
            var start = Resource(content)
            start.script = [[.redirect(location: "/b")]]
            start.repeatsLastStep = true
            environment.server.serve(start, at: "/a")
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[], [.status(403)]]), at: "/b")
            let log = await EventLog(of: environment.downloader.start(environment.request("/a")))
            #expect(log.error == nil)
            #expect(log.retries == [])
            #expect(try environment.holds(content))
            #expect(environment.server.requests(at: "/a").count == 2)
            #expect(environment.server.requests(at: "/b").map(offset(of:)) == [0, 8 << 20, 8 << 20])
        }
    }

    @Test(arguments: 1...4)
    func `a signed target of another origin that has expired before its first request is requested anew, twice`(
        _ refusalCount: Int
    ) async throws {
        try await LoopbackServer.withServer { other in
            try await TestEnvironment.with { environment async throws in
                var start = Resource(content)
                start.script = (0...4).map { [.redirect(location: other.url("/signed-\($0)").absoluteString)] }
                environment.server.serve(start, at: "/a")
                for number in 0...4 {
                    let script: [Step] = number < refusalCount ? [[.status(403)]] : []
                    other.serve(Resource(content, entityTag: "\"a\"", script: script), at: "/signed-\(number)")
                }
                let log = await EventLog(of: environment.downloader.start(environment.request("/a")))
                #expect((log.file != nil) == (refusalCount <= 2))
                #expect(log.error?.statusCode == (refusalCount <= 2 ? nil : 403))
                #expect(log.retries == [])
                #expect(environment.server.requests(at: "/a").count == min(refusalCount, 2) + 1)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a target that is always refused fails the download`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var start = Resource(content)
            start.script = [[.redirect(location: "/b")]]
            start.repeatsLastStep = true
            environment.server.serve(start, at: "/a")
            var target = Resource(content, entityTag: "\"a\"", script: [[.cut(after: 50_000)], [.status(403)]])
            target.repeatsLastStep = true
            environment.server.serve(target, at: "/b")
            let log = await EventLog(of: environment.downloader.start(environment.request("/a")))
            #expect(log.error?.statusCode == 403)
            #expect(log.error?.retainedByteCount == 50_000)
            #expect(environment.server.requests(at: "/b").count <= 3)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a redirect loop ends after twenty redirects`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var loop = Resource(content)
            loop.script = [[.redirect(location: "/a")]]
            loop.repeatsLastStep = true
            environment.server.serve(loop, at: "/a")
            let log = await EventLog(of: environment.downloader.start(environment.request("/a")))
            #expect(log.error?.code == .tooManyRedirects)
            #expect(environment.server.requests(at: "/a").count == 21)
        }
    }

    @Test(
        arguments: Engine.allCases,
        ["ftp://127.0.0.1/x", "file:///etc/passwd", "http://user:pass@127.0.0.1/x", "http:"])
    func `redirects to schemes other than HTTP, or with user information, are refused`(
        _ engine: Engine, _ location: String
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(content, script: [[.redirect(location: location)]]), at: "/a")
            let log = await EventLog(of: environment.downloader.start(environment.request("/a")))
            #expect(log.error?.code == .redirectRefused)
        }
    }
}
