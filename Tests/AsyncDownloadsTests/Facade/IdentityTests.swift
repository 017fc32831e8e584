internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Resources that callers know by a name of their own, whatever today's URL is.
@Suite(.endsWhenHung)
struct IdentityTests {
    private static let content = Content(seed: 74, length: 300_000)
    private static let cut: Int64 = 100_000

    private func request(_ shop: Workshop, _ path: String, to name: String = "file.bin") -> DownloadRequest {
        var request = shop.request(path, to: name)
        request.identity = "film"
        return request
    }

    private func stalling(_ shop: Workshop, at path: String) {
        shop.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.cut)]]), at: path)
    }

    @Test(arguments: Engine.allCases)
    func `rule 51: requests of one identity share a transfer, whatever their URLs are`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            stalling(shop, at: "/today")
            let first = shop.downloader.start(request(shop, "/today"))
            try await first.progress(reaching: Self.cut)
            let second = shop.downloader.start(request(shop, "/tomorrow", to: "second.bin"))
            #expect(second.isCoalesced)
            shop.server.release("/today")
            #expect(try await first.file.byteCount == Self.content.length)
            #expect(try await second.file.byteCount == Self.content.length)
            #expect(shop.server.requests(at: "/today").count == 1 && shop.server.requests(at: "/tomorrow").isEmpty)
        }
    }

    @Test func `names, URLs and other names are apart`() async throws {
        try await Workshop.with { shop async throws in
            shop.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead], [.holdHead]]), at: "/one")
            var named = request(shop, "/one", to: "named")
            named.identity = shop.server.url("/one").absoluteString
            let first = shop.downloader.start(named)
            let plain = shop.downloader.start(shop.request("/one", to: "plain"))
            let other = shop.downloader.start(request(shop, "/one", to: "other"))
            #expect(!plain.isCoalesced && !other.isCoalesced)
            named.identity = ""
            #expect(shop.downloader.start(named).state == .failed)
            for download in [first, plain, other] { download.discard() }
        }
    }

    /// What tomorrow's URL says of itself, whatever the condition.
    static let claims: [(tag: String?, restarts: [RestartReason])] = [
        ("\"a\"", []), ("\"b\"", [.contentChanged]), (nil, [.contentChanged]),
    ]

    @Test(arguments: Engine.allCases, claims)
    func `tomorrow's URL continues today's bytes where it proves to be of the same object`(
        _ engine: Engine, _ claim: (tag: String?, restarts: [RestartReason])
    ) async throws {
        try await Workshop.with(engine) { shop async throws in
            stalling(shop, at: "/today")
            try await shop.leave(request(shop, "/today"), at: Self.cut)
            var resource = Resource(Self.content, entityTag: claim.tag)
            resource.ifRange = .ignored
            resource.honoursIfMatch = false
            shop.server.serve(resource, at: "/tomorrow")
            let second = Downloader(configuration: shop.downloader.configuration)
            let story = await Story(of: second.start(request(shop, "/tomorrow")))
            #expect(story.restarts == claim.restarts)
            #expect(story.resumptions == (claim.restarts.isEmpty ? [Self.cut] : []))
            #expect(try shop.holds(Self.content))
            #expect(shop.server.requests(at: "/today").count == 1)
            await second.shutdown()
        }
    }

    @Test func `it is restored with the bytes`() async throws {
        try await Workshop.with { shop async throws in
            stalling(shop, at: "/today")
            try await shop.leave(request(shop, "/today"), at: Self.cut)
            shop.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/tomorrow")
            let restored = try await shop.downloader.restore(in: shop.directory) { request in
                if request.identity == "film" { request.url = shop.server.url("/tomorrow") }
            }
            #expect(restored.map(\.request.identity) == ["film"])
            for download in restored { download.resume() }
            #expect(try await restored.first?.file.byteCount == Self.content.length)
            #expect(shop.server.requests(at: "/tomorrow").map(offset(of:)) == [Self.cut])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a paused transfer goes on from the URL of whoever joins it`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            stalling(shop, at: "/today")
            let first = shop.downloader.start(request(shop, "/today"))
            try await first.progress(reaching: Self.cut)
            first.pause()
            for try await event in first.events { if case .paused = event { break } }
            shop.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/tomorrow")
            let second = shop.downloader.start(request(shop, "/tomorrow"))
            #expect(second.isCoalesced)
            #expect(try await second.file.byteCount == Self.content.length)
            #expect(shop.server.requests(at: "/tomorrow").map(offset(of:)) == [Self.cut])
            #expect(shop.server.requests(at: "/today").count == 1)
        }
    }

    @Test(arguments: Engine.allCases, [401, 403, 410])
    func `a URL that is refused gives way to that of a later request`(_ engine: Engine, _ status: Int) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Resource(Self.content, script: [[.holdHead, .status(status)]]), at: "/today")
            shop.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/tomorrow")
            let first = shop.downloader.start(request(shop, "/today"))
            _ = await shop.server.requests(at: "/today", reaching: 1)
            let second = shop.downloader.start(request(shop, "/tomorrow"))
            shop.server.release("/today")
            #expect(try await first.file.byteCount == Self.content.length)
            #expect(try await second.file.byteCount == Self.content.length)
            #expect(shop.server.requests(at: "/tomorrow").count == 1)
        }
    }

    @Test func `a body in memory is gone on from under another URL, after a proof`() async throws {
        for tag in ["\"a\"", nil] {
            try await Workshop.with { shop async throws in
                stalling(shop, at: "/today")
                var request = DownloadRequest(from: shop.server.url("/today"))
                request.identity = "film"
                try await shop.leave(request, at: Self.cut)
                var resource = Resource(Self.content, entityTag: tag)
                resource.ifRange = .ignored
                resource.honoursIfMatch = false
                shop.server.serve(resource, at: "/tomorrow")
                request.url = shop.server.url("/tomorrow")
                let story = await Story(of: shop.downloader.start(request))
                #expect(story.restarts == (tag == nil ? [.contentChanged] : []))
                #expect(story.file?.data == Data(Self.content.bytes(in: 0..<Self.content.length)))
            }
        }
    }
}
