import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Downloads into memory: bounded, shared with files of the same resource, and continued from what was there.
@Suite(.endsWhenHung)
struct MemoryTests {
    private static let content = Content(seed: 12, length: 300_000)
    private static let all = Data(content.bytes(in: 0..<content.length))

    @Test(arguments: Engine.allCases, [0, 1, 300_000])
    func `a body comes as bytes, and no file is made`(_ engine: Engine, _ length: Int64) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Resource(Content(seed: 12, length: length), entityTag: "\"a\""), at: "/one")
            #expect(try await shop.downloader.data(from: shop.server.url("/one")) == Self.all.prefix(Int(length)))
            #expect(try shop.leftovers == [])
            #expect(shop.bodies.byteCount == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `many who want the same bytes share one request`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let url = shop.server.url("/one")
            let downloads = (0..<100).map { _ in shop.downloader.start(DownloadRequest(from: url)) }
            _ = await shop.server.requests(at: "/one", reaching: 1)
            shop.server.release("/one")
            for download in downloads { #expect(try await download.file.data == Self.all) }
            #expect(shop.server.requests(at: "/one").count == 1)
        }
    }

    @Test(arguments: Engine.allCases, [true, false])
    func `a file and a body of one resource share one request, whoever comes first`(
        _ engine: Engine, _ isFileFirst: Bool
    ) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            let requests = [shop.request("/one"), DownloadRequest(from: shop.server.url("/one"))]
            let first = shop.downloader.start(requests[isFileFirst ? 0 : 1])
            try await first.progress(reaching: 100_000)
            let second = shop.downloader.start(requests[isFileFirst ? 1 : 0])
            #expect(second.isCoalesced)
            shop.server.release("/one")
            let files = [try await first.file, try await second.file]
            #expect(files.compactMap(\.data) == [Self.all])
            #expect(try shop.holds(Self.content))
            #expect(try shop.leftovers == ["file.bin"])
            #expect(shop.server.requests(at: "/one").count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a body that announces too much is refused, and one that sends too much`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            var resource = Resource(Self.content)
            shop.server.serve(resource, at: "/announced")
            resource.framing = .chunked
            resource.ranges = .ignored
            shop.server.serve(resource, at: "/silent")
            resource.script = [[.endless]]
            shop.server.serve(resource, at: "/endless")
            for path in ["/announced", "/silent", "/endless"] {
                let error = await #expect(throws: DownloadError.self) {
                    try await shop.downloader.data(from: shop.server.url(path), maximumByteCount: 299_999)
                }
                #expect(error?.code == .bodyTooLarge, "\(path)")
            }
            let exact = try await shop.downloader.data(
                from: shop.server.url("/announced"), maximumByteCount: Self.content.length)
            #expect(exact == Self.all)
        }
    }

    @Test func `who names no limit has the downloader's, and a file has none`() async throws {
        try await Workshop.with(configure: { $0.maximumDataByteCount = 299_999 }) { shop async throws in
            shop.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
            let error = await #expect(throws: DownloadError.self) {
                try await shop.downloader.data(from: shop.server.url("/one"))
            }
            #expect(error?.code == .bodyTooLarge)
            #expect(try await shop.downloader.download(shop.request("/one")).byteCount == Self.content.length)
        }
    }

    @Test(arguments: Engine.allCases, [true, false])
    func `each caller has a limit of its own`(_ engine: Engine, _ isFileFirst: Bool) async throws {
        try await Workshop.with(engine) { shop async throws in
            // Without a length, so that the limit is met on the way.
            var resource = Resource(Self.content, script: [[.stall(after: 100_000)]])
            resource.framing = .chunked
            resource.ranges = .ignored
            shop.server.serve(resource, at: "/one")
            var small = DownloadRequest(from: shop.server.url("/one"))
            small.maximumByteCount = 150_000
            let requests = isFileFirst ? [shop.request("/one"), small] : [small, shop.request("/one")]
            let first = shop.downloader.start(requests[0])
            try await first.progress(reaching: 100_000)
            let second = shop.downloader.start(requests[1])
            shop.server.release("/one")
            let stories = [await Story(of: first), await Story(of: second)]
            #expect(stories[isFileFirst ? 0 : 1].file?.byteCount == Self.content.length)
            #expect(stories[isFileFirst ? 1 : 0].error?.code == .bodyTooLarge)
            #expect(try shop.holds(Self.content))
            #expect(shop.server.requests(at: "/one").count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `what was received is continued from memory`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            try await shop.leave(DownloadRequest(from: shop.server.url("/one")), at: 100_000)
            #expect(shop.bodies.byteCount == 100_000)
            let story = await Story(of: shop.downloader.start(DownloadRequest(from: shop.server.url("/one"))))
            #expect(story.resumptions == [100_000])
            #expect(story.file?.data == Self.all)
            let requests = shop.server.requests(at: "/one")
            #expect(requests.map(offset(of:)) == [0, 100_000])
            #expect((requests.last?["If-Range"] ?? requests.last?["If-Match"]) == "\"a\"")
            #expect(shop.bodies.byteCount == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `bytes in memory of an object that has changed are given up`(_ engine: Engine) async throws {
        let changed = Content(seed: 13, length: 200_000)
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(
                Resource(
                    Self.content, entityTag: "\"a\"",
                    script: [[.stall(after: 100_000)], [.replaceContent(changed, entityTag: "\"b\"")]]), at: "/one")
            try await shop.leave(DownloadRequest(from: shop.server.url("/one")), at: 100_000)
            let story = await Story(of: shop.downloader.start(DownloadRequest(from: shop.server.url("/one"))))
            #expect(story.restarts == [.contentChanged])
            #expect(story.file?.data == Data(changed.bytes(in: 0..<changed.length)))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a file goes on from the bytes in memory`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            try await shop.leave(DownloadRequest(from: shop.server.url("/one")), at: 100_000)
            let story = await Story(of: shop.downloader.start(shop.request("/one")))
            #expect(story.resumptions == [100_000])
            #expect(try shop.holds(Self.content))
            #expect(try shop.leftovers == ["file.bin"])
        }
    }

    @Test func `a pause keeps the bytes in memory`() async throws {
        try await Workshop.with { shop async throws in
            shop.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            let download = shop.downloader.start(DownloadRequest(from: shop.server.url("/one")))
            try await download.progress(reaching: 100_000)
            download.pause()
            for try await event in download.events { if case .paused(100_000) = event { break } }
            #expect(shop.bodies.byteCount == 100_000)
            let events = download.events
            download.resume()
            let story = await Story(events)
            #expect(story.resumptions == [100_000])
            #expect(story.file?.data == Self.all)
        }
    }

    @Test(arguments: [true, false])
    func `the digest is checked in memory too`(_ isRight: Bool) async throws {
        try await Workshop.with { shop async throws in
            shop.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
            var request = DownloadRequest(from: shop.server.url("/one"))
            request.checksum = isRight ? Self.content.sha256 : .sha256(String(repeating: "0", count: 64))
            let story = await Story(of: shop.downloader.start(request))
            #expect(story.file?.data == (isRight ? Self.all : nil))
            #expect(story.error?.code == (isRight ? nil : .checksumMismatch))
            #expect(shop.bodies.byteCount == 0)
        }
    }
}

extension Workshop {
    fileprivate var bodies: PartialBodyStore { downloader.configuration.partialBodies }
}
