import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// What is freed when memory is short, and what is not.
@Suite(.endsWhenHung)
struct ReliefTests {
    private static let content = Content(seed: 61, length: 300_000)
    private static let stalled = Resource(content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]])

    private static func with(
        _ policy: MemoryPressurePolicy = .release, abandonment: AbandonmentPolicy = .pause,
        _ body: (Workshop, ManualMemoryPressure) async throws -> Void
    ) async throws {
        let pressure = ManualMemoryPressure()
        let spill = FileManager.default.temporaryDirectory.appending(path: "async-downloads-\(UUID())")
        defer { try? FileManager.default.removeItem(at: spill) }
        try await Workshop.with(configure: {
            $0.memoryPressure = .manual(pressure)
            $0.memoryPressurePolicy = policy
            $0.abandonmentPolicy = abandonment
            $0.partialsDirectory = spill
        }) { shop async throws in
            try await body(shop, pressure)
        }
    }

    @Test(arguments: [MemoryPressure.warning, .critical])
    func `bodies of paused downloads go to disk at a warning, and are dropped when it is critical`(
        _ level: MemoryPressure
    ) async throws {
        try await Self.with { shop, pressure async throws in
            shop.server.serve(Self.stalled, at: "/one")
            let download = shop.downloader.start(DownloadRequest(from: shop.server.url("/one")))
            try await download.progress(reaching: 100_000)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            let bodies = shop.downloader.configuration.partialBodies
            #expect(bodies.byteCount == 100_000)
            let events = download.events
            pressure.report(level)
            #expect(bodies.byteCount == 0)
            #expect(download.state == .paused)
            download.resume()
            let story = await Story(events)
            #expect(story.released.map(\.byteCount) == [100_000])
            #expect(story.released.map(\.isOnDisk) == [level == .warning])
            #expect(story.resumptions == (level == .warning ? [100_000] : []))
            #expect(story.restarts == (level == .warning ? [] : [.partialMissing]))
            #expect(story.file?.data == Data(Self.content.bytes(in: 0..<Self.content.length)))
        }
    }

    @Test(arguments: [MemoryPressure.warning, .critical])
    func `a running transfer is not touched`(_ level: MemoryPressure) async throws {
        try await Self.with(.discard, abandonment: .finish) { shop, pressure async throws in
            for path in ["/one", "/paused", "/unheard"] { shop.server.serve(Self.stalled, at: path) }
            let paused = shop.downloader.start(DownloadRequest(from: shop.server.url("/paused")))
            try await paused.progress(reaching: 100_000)
            paused.pause()
            for try await event in paused.events { if case .paused = event { break } }
            let running = shop.downloader.start(DownloadRequest(from: shop.server.url("/one")))
            try await running.progress(reaching: 100_000)
            // Nobody has its handle any more.
            try await shop.downloader.start(shop.request("/unheard")).progress(reaching: 100_000)
            pressure.report(level)
            shop.server.release("/one")
            #expect(try await running.file.data?.count == 300_000)
            #expect(shop.server.requests(at: "/one").count == 1)
            let again = shop.downloader.start(shop.request("/unheard"))
            shop.server.release("/unheard")
            #expect(try await again.file.byteCount == 300_000)
            #expect(shop.server.requests(at: "/unheard").count == 1)
        }
    }

    @Test func `a paused file that nobody can resume leaves memory, and its bytes serve the next request`() async throws
    {
        try await Self.with { shop, pressure async throws in
            shop.server.serve(Self.stalled, at: "/one")
            try await Self.pauseAndForget(shop)
            #expect(shop.downloader.liveTransfers.count == 1)
            pressure.report(.warning)
            while !shop.downloader.liveTransfers.isEmpty { await Task.yield() }
            let story = await Story(of: shop.downloader.start(shop.request("/one")))
            #expect(story.resumptions == [100_000])
            #expect(try shop.holds(Self.content))
        }
    }

    @Test func `a paused file whose handle is held stays as it is`() async throws {
        try await Self.with { shop, pressure async throws in
            shop.server.serve(Self.stalled, at: "/one")
            let download = shop.downloader.start(shop.request("/one"))
            try await download.progress(reaching: 100_000)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            pressure.report(.critical)
            #expect(download.state == .paused)
            let events = download.events
            download.resume()
            let story = await Story(events)
            #expect(story.resumptions == [100_000])
            #expect(story.restarts == [])
        }
    }

    @Test func `discarding deletes what paused downloads have on disk, and they can begin again`() async throws {
        try await Self.with(.discard) { shop, pressure async throws in
            shop.server.serve(Self.stalled, at: "/one")
            let download = shop.downloader.start(shop.request("/one"))
            try await download.progress(reaching: 100_000)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            let events = download.events
            pressure.report(.warning)
            var told: [String] = []
            for try await event in events {
                told.append("\(event)")
                if case .restarted(let reason, let count) = event {
                    #expect(reason == .memoryPressure)
                    #expect(count == 100_000)
                } else if case .paused(0) = event {
                    break
                }
            }
            #expect(download.progress.receivedByteCount == 0, "\(told)")
            let directory = try #require(shop.downloader.configuration.partialsDirectory)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
            download.resume()
            #expect(try await download.file.byteCount == Self.content.length)
            #expect(shop.server.requests(at: "/one").map(offset(of:)) == [0, 0])
        }
    }

    @Test func `ignoring frees nothing`() async throws {
        try await Self.with(.ignore) { shop, pressure async throws in
            shop.server.serve(Self.stalled, at: "/one")
            try await shop.leave(DownloadRequest(from: shop.server.url("/one")), at: 100_000)
            pressure.report(.critical)
            #expect(shop.downloader.configuration.partialBodies.byteCount == 100_000)
        }
    }

    @Test func `purging by hand says how many bytes left memory`() async throws {
        try await Self.with { shop, _ async throws in
            shop.server.serve(Self.stalled, at: "/one")
            try await shop.leave(DownloadRequest(from: shop.server.url("/one")), at: 100_000)
            #expect(await shop.downloader.purgePaused() == 100_000)
            #expect(await shop.downloader.purgePaused() == 0)
            let story = await Story(of: shop.downloader.start(DownloadRequest(from: shop.server.url("/one"))))
            #expect(story.resumptions == [100_000], "it was on disk")
        }
    }

    private static func pauseAndForget(_ shop: Workshop) async throws {
        let download = shop.downloader.start(shop.request("/one"))
        try await download.progress(reaching: 100_000)
        download.pause()
        for try await event in download.events { if case .paused = event { break } }
    }
}

extension Story {
    fileprivate var released: [(byteCount: Int64, isOnDisk: Bool)] {
        events.compactMap { if case .released(let count, let isOnDisk) = $0 { (count, isOnDisk) } else { nil } }
    }
}
