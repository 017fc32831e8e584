import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Redirects are followed by the package's own rules (rules 10 and 11).
@Suite(.endsWhenHung)
struct FollowingTests {
    private let content = Content(seed: 6, length: 200_000)

    @Test(arguments: Engine.allCases, [301, 302, 303, 307, 308])
    func `redirects are followed, and the original URL is asked again`(_ engine: Engine, _ status: Int) async throws {
        try await Workshop.with(engine) { shop async throws in
            var start = Resource(content)
            start.script = [
                [.redirect(status: status, location: "/b?signature=1")], [.redirect(status: status, location: "b")],
            ]
            shop.server.serve(start, at: "/a")
            shop.server.serve(Resource(content, entityTag: "\"a\"", script: [[.cut(after: 50_000)]]), at: "/b")
            let story = await Story(of: shop.downloader.start(shop.request("/a")))
            #expect(story.error == nil)
            #expect(story.resumptions == [50_000])
            #expect(story.file?.finalURL == shop.server.url("/b"))
            #expect(try shop.holds(content))
            #expect(shop.server.requests(at: "/a").count == 2)
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 11: credentials do not cross origins, also on resumption`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            try await LoopbackServer.withServer { other async throws in
                var start = Resource(content)
                start.script = [[.redirect(location: other.url("/b").absoluteString)]]
                start.repeatsLastStep = true
                shop.server.serve(start, at: "/a")
                other.serve(Resource(content, entityTag: "\"a\"", script: [[.cut(after: 50_000)]]), at: "/b")
                var request = shop.request("/a")
                request.headers = ["Authorization": "Bearer secret", "Cookie": "a=b", "X-Own": "kept"]
                request.nonsecretHeaders = ["X-Own"]
                _ = try await shop.downloader.download(request)
                #expect(shop.server.requests(at: "/a").allSatisfy { $0["Authorization"] == "Bearer secret" })
                let crossed = other.requests(at: "/b")
                #expect(crossed.count == 2)
                #expect(
                    crossed.allSatisfy { $0["Authorization"] == nil && $0["Cookie"] == nil && $0["X-Own"] == "kept" })
            }
        }
    }

    @Test
    func `a signed target that expires between two windows is asked for anew`() async throws {
        try await Workshop.with(.urlSession) { shop async throws in
            let content = Content(seed: 7, length: 9_000_000)
            var start = Resource(content)
            start.script = [[.redirect(location: "/b")]]
            start.repeatsLastStep = true
            shop.server.serve(start, at: "/a")
            shop.server.serve(Resource(content, entityTag: "\"a\"", script: [[], [.status(403)]]), at: "/b")
            let story = await Story(of: shop.downloader.start(shop.request("/a")))
            #expect(story.error == nil)
            #expect(story.retries == [])
            #expect(try shop.holds(content))
            #expect(shop.server.requests(at: "/a").count == 2)
            #expect(shop.server.requests(at: "/b").map(offset(of:)) == [0, 8 << 20, 8 << 20])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a target that is refused for good is a failure`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            var start = Resource(content)
            start.script = [[.redirect(location: "/b")]]
            start.repeatsLastStep = true
            shop.server.serve(start, at: "/a")
            var target = Resource(content, entityTag: "\"a\"", script: [[.cut(after: 50_000)], [.status(403)]])
            target.repeatsLastStep = true
            shop.server.serve(target, at: "/b")
            let story = await Story(of: shop.downloader.start(shop.request("/a")))
            #expect(story.error?.statusCode == 403)
            #expect(story.error?.bytesKept == 50_000)
            #expect(shop.server.requests(at: "/b").count <= 3)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a loop ends after twenty redirects`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            var loop = Resource(content)
            loop.script = [[.redirect(location: "/a")]]
            loop.repeatsLastStep = true
            shop.server.serve(loop, at: "/a")
            let story = await Story(of: shop.downloader.start(shop.request("/a")))
            #expect(story.error?.code == .tooManyRedirects)
            #expect(shop.server.requests(at: "/a").count == 21)
        }
    }

    @Test(
        arguments: Engine.allCases,
        ["ftp://127.0.0.1/x", "file:///etc/passwd", "http://user:pass@127.0.0.1/x", "http:"])
    func `redirects out of http are refused`(_ engine: Engine, _ location: String) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Resource(content, script: [[.redirect(location: location)]]), at: "/a")
            let story = await Story(of: shop.downloader.start(shop.request("/a")))
            #expect(story.error?.code == .redirectRefused)
        }
    }
}
