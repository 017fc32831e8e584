import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The release of memory under memory pressure.
@Suite(.endsWhenHung)
struct MemoryPressureResponseTests {
    private static let content = Content(seed: 61, length: 300_000)
    private static let stalled = Resource(content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]])

    private static func with(
        _ policy: MemoryPressurePolicy = .release, abandonment: AbandonmentPolicy = .pause,
        _ body: (TestEnvironment, ManualMemoryPressure) async throws -> Void
    ) async throws {
        let pressure = ManualMemoryPressure()
        let spill = FileManager.default.temporaryDirectory.appending(path: "async-downloads-\(UUID())")
        defer { try? FileManager.default.removeItem(at: spill) }
        try await TestEnvironment.with(configure: {
            $0.memoryPressure = .manual(pressure)
            $0.memoryPressurePolicy = policy
            $0.abandonmentPolicy = abandonment
            $0.partialsDirectory = spill
        }) { environment async throws in
            try await body(environment, pressure)
        }
    }

    @Test(arguments: [MemoryPressure.warning, .critical])
    func `paused bodies are moved to disk at a warning and discarded at the critical level`(
        _ level: MemoryPressure
    ) async throws {
        try await Self.with { environment, pressure async throws in
            environment.server.serve(Self.stalled, at: "/one")
            let download = environment.downloader.start(
                DownloadRequest(from: environment.server.url("/one"), to: .memory))
            try await download.progress(reaching: 100_000)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            let bodies = environment.downloader.configuration.partialBodies
            #expect(bodies.byteCount == 100_000)
            let events = download.events
            pressure.report(level)
            #expect(bodies.byteCount == 0)
            #expect(download.state == .paused)
            download.resume()
            let log = await EventLog(events)
            #expect(log.released.map(\.byteCount) == [100_000])
            #expect(log.released.map(\.isOnDisk) == [level == .warning])
            #expect(log.resumptions == (level == .warning ? [100_000] : []))
            #expect(log.restarts == (level == .warning ? [] : [.partialMissing]))
            #expect(log.file?.data == Data(Self.content.bytes(in: 0..<Self.content.length)))
        }
    }

    @Test(arguments: [MemoryPressure.warning, .critical])
    func `memory pressure does not affect a running transfer`(_ level: MemoryPressure) async throws {
        try await Self.with(.discard, abandonment: .finish) { environment, pressure async throws in
            for path in ["/one", "/paused", "/released"] { environment.server.serve(Self.stalled, at: path) }
            let paused = environment.downloader.start(
                DownloadRequest(from: environment.server.url("/paused"), to: .memory))
            try await paused.progress(reaching: 100_000)
            paused.pause()
            for try await event in paused.events { if case .paused = event { break } }
            let running = environment.downloader.start(
                DownloadRequest(from: environment.server.url("/one"), to: .memory))
            try await running.progress(reaching: 100_000)
            // The handle of this download is released.
            try await environment.downloader.start(environment.request("/released")).progress(reaching: 100_000)
            pressure.report(level)
            environment.server.release("/one")
            #expect(try await running.file.data?.count == 300_000)
            #expect(environment.server.requests(at: "/one").count == 1)
            let again = environment.downloader.start(environment.request("/released"))
            environment.server.release("/released")
            #expect(try await again.file.byteCount == 300_000)
            #expect(environment.server.requests(at: "/released").count == 1)
        }
    }

    @Test func `a paused download without a handle is released, and its bytes are used by the next request`()
        async throws
    {
        try await Self.with { environment, pressure async throws in
            environment.server.serve(Self.stalled, at: "/one")
            try await Self.pauseAndRelease(environment)
            #expect(environment.downloader.liveTransfers.count == 1)
            pressure.report(.warning)
            while !environment.downloader.liveTransfers.isEmpty { await Task.yield() }
            let log = await EventLog(of: environment.downloader.start(environment.request("/one")))
            #expect(log.resumptions == [100_000])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `a paused download with a handle is not released`() async throws {
        try await Self.with { environment, pressure async throws in
            environment.server.serve(Self.stalled, at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: 100_000)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            pressure.report(.critical)
            #expect(download.state == .paused)
            let events = download.events
            download.resume()
            let log = await EventLog(events)
            #expect(log.resumptions == [100_000])
            #expect(log.restarts == [])
        }
    }

    @Test func `the discard policy deletes bytes of paused downloads on disk, and they can restart`() async throws {
        try await Self.with(.discard) { environment, pressure async throws in
            environment.server.serve(Self.stalled, at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: 100_000)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            let events = download.events
            pressure.report(.warning)
            var emitted: [String] = []
            for try await event in events {
                emitted.append("\(event)")
                if case .restarted(let reason, let count) = event {
                    #expect(reason == .memoryPressure)
                    #expect(count == 100_000)
                } else if case .paused(0) = event {
                    break
                }
            }
            #expect(download.progress.receivedByteCount == 0, "\(emitted)")
            let directory = try #require(environment.downloader.configuration.partialsDirectory)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
            download.resume()
            #expect(try await download.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, 0])
        }
    }

    @Test(arguments: [false, true])
    func `bytes of an earlier request are deleted although the download was paused in line`(
        isObserved: Bool
    ) async throws {
        try await TestEnvironment.with(configure: { $0.maximumConcurrentTransfers = 1 }) { environment async throws in
            for path in ["/one", "/two"] { environment.server.serve(Self.stalled, at: path) }
            try await environment.leave(environment.request("/one"), at: 100_000)
            let running = environment.downloader.start(
                DownloadRequest(from: environment.server.url("/two"), to: .memory))
            try await running.progress(reaching: 100_000)
            let paused = environment.downloader.start(environment.request("/one"))
            paused.pause()
            let earlyEvents = isObserved ? paused.events : nil
            await environment.downloader.purgePaused(discardingBytes: true)
            var restarts: [Int64] = []
            for try await event in earlyEvents ?? paused.events {
                if case .restarted(.memoryPressure, let count) = event { restarts.append(count) }
                if case .paused(0) = event, !restarts.isEmpty { break }
            }
            #expect(restarts == [100_000])
            running.cancel()
            paused.resume()
            #expect(try await paused.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, 0])
        }
    }

    @Test func `the ignore policy releases nothing`() async throws {
        try await Self.with(.ignore) { environment, pressure async throws in
            environment.server.serve(Self.stalled, at: "/one")
            try await environment.leave(DownloadRequest(from: environment.server.url("/one"), to: .memory), at: 100_000)
            pressure.report(.critical)
            #expect(environment.downloader.configuration.partialBodies.byteCount == 100_000)
        }
    }

    @Test func `a manual purge returns the number of bytes released from memory`() async throws {
        try await Self.with { environment, _ async throws in
            environment.server.serve(Self.stalled, at: "/one")
            try await environment.leave(DownloadRequest(from: environment.server.url("/one"), to: .memory), at: 100_000)
            #expect(await environment.downloader.purgePaused() == 100_000)
            #expect(await environment.downloader.purgePaused() == 0)
            let log = await EventLog(
                of: environment.downloader.start(DownloadRequest(from: environment.server.url("/one"), to: .memory)))
            #expect(log.resumptions == [100_000], "the bytes were on disk")
        }
    }

    private static func pauseAndRelease(_ environment: TestEnvironment) async throws {
        let download = environment.downloader.start(environment.request("/one"))
        try await download.progress(reaching: 100_000)
        download.pause()
        for try await event in download.events { if case .paused = event { break } }
    }
}

extension EventLog {
    fileprivate var released: [(byteCount: Int64, isOnDisk: Bool)] {
        events.compactMap { if case .released(let count, let isOnDisk) = $0 { (count, isOnDisk) } else { nil } }
    }
}
