import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Nodes of a content delivery network with entity tags of their own (rule 35).
@Suite(.endsWhenHung)
struct NodeTests {
    private static let content = Content(seed: 1, length: 300_000)
    private static let other = Content(seed: 2, length: 300_000)
    private static let cut: Int64 = 100_000

    /// An object that is cut, and comes from another node from then on.
    private static func moving(to content: Content, _ rest: Step...) -> Resource {
        var script: [Step] = [[.cut(after: cut)], [.replaceContent(content, entityTag: "\"v2\"")]]
        script += rest
        return Resource(Self.content, entityTag: "\"v1\"", script: script)
    }

    private static func request(_ shop: Workshop, _ checksum: Checksum?) -> DownloadRequest {
        var request = shop.request("/one")
        request.checksum = checksum
        request.contentChangePolicy = .verify
        return request
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: with a digest the bytes of another node are continued`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Self.moving(to: Self.content), at: "/one")
            let story = await Story(of: shop.downloader.start(Self.request(shop, Self.content.sha256)))
            #expect(story.error == nil)
            #expect(story.restarts == [])
            #expect(story.file?.fetchedByteCount == Self.content.length)
            #expect(try shop.holds(Self.content))
            #expect(shop.server.requests(at: "/one").map(offset(of:)) == [0, Self.cut, Self.cut])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: the policy may be the downloader's`(_ engine: Engine) async throws {
        try await Workshop.with(engine, configure: { $0.contentChangePolicy = .verify }) { shop async throws in
            shop.server.serve(Self.moving(to: Self.content), at: "/one")
            var request = shop.request("/one")
            request.checksum = Self.content.sha256
            let story = await Story(of: shop.downloader.start(request))
            #expect(story.restarts == [])
            #expect(try shop.holds(Self.content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: a digest that is wrong in the end leads back to the first byte, once`(
        _ engine: Engine
    ) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Self.moving(to: Self.other), at: "/one")
            let story = await Story(of: shop.downloader.start(Self.request(shop, Self.other.sha256)))
            #expect(story.error == nil)
            #expect(story.restarts == [.digestMismatch])
            #expect(try shop.holds(Self.other))
            #expect(try shop.leftovers == ["file.bin"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: a digest that nothing has is an error after that`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Self.moving(to: Self.other), at: "/one")
            let wrong = Checksum.sha256(String(repeating: "0", count: 64))
            let story = await Story(of: shop.downloader.start(Self.request(shop, wrong)))
            #expect(story.restarts == [.digestMismatch])
            #expect(story.error?.code == .checksumMismatch)
            #expect(try shop.leftovers == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: a caller without a digest never gets what another one's disproves`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Self.moving(to: Self.other, .plain, [.holdHead]), at: "/one")
            let verifying = shop.downloader.start(Self.request(shop, Self.other.sha256))
            let trusting = shop.downloader.start(shop.request("/one", to: "other.bin"))
            _ = await shop.server.requests(at: "/one", reaching: 4)
            #expect(try shop.leftovers.filter { !$0.hasPrefix(".") } == [])
            shop.server.release("/one")
            _ = try await (verifying.file, trusting.file)
            #expect(try shop.holds(Self.other))
            #expect(try shop.holds(Self.other, at: "other.bin"))
        }
    }

    /// Leaves 150,000 bytes behind, a third of them from another node, as a process does that ends in order.
    private static func leave(_ shop: Workshop, movingTo content: Content, _ checksum: Checksum) async throws {
        shop.server.serve(moving(to: content, [.stall(after: 50_000)]), at: "/one")
        let download = shop.downloader.start(request(shop, checksum))
        for try await event in download.events {
            if case .progress(let progress) = event, progress.receivedByteCount >= 150_000 { break }
        }
        await shop.downloader.shutdown()
    }

    private static func nextProcess(_ shop: Workshop, _ engine: Engine) -> Downloader {
        var configuration = shop.downloader.configuration
        configuration.transport = engine.choice
        return Downloader(configuration: configuration)
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: bytes that only a digest could prove are not used without one`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            try await Self.leave(shop, movingTo: Self.other, Self.other.sha256)
            let next = Self.nextProcess(shop, engine)
            let story = await Story(of: next.start(shop.request("/one")))
            #expect(story.restarts == [.contentChanged, .contentChanged], "the doubtful bytes go, then the others")
            #expect(story.error == nil)
            #expect(try shop.holds(Self.other))
            await next.shutdown()
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: the same bytes serve a later process that has the digest`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            try await Self.leave(shop, movingTo: Self.content, Self.content.sha256)
            let next = Self.nextProcess(shop, engine)
            let story = await Story(of: next.start(Self.request(shop, Self.content.sha256)))
            #expect(story.restarts == [])
            #expect(story.file?.fetchedByteCount == 150_000)
            #expect(try shop.holds(Self.content))
            await next.shutdown()
        }
    }
}
