import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Restoring what is unfinished starts nothing.
@Suite(.endsWhenHung)
struct RestoringTests {
    /// Leaves an unfinished file behind.
    private func leave(_ stage: LifecycleStage) async throws {
        let download = stage.downloader.start(try stage.request())
        try await Moment.receiving.reach(on: stage)
        download.cancel()
        await stage.endCancelled()
        #expect(try stage.keptCounts() == [Moment.byteCount])
    }

    private func restore(_ stage: LifecycleStage) async throws -> Download {
        let restored = try await stage.downloader.restore(in: URL(fileURLWithPath: stage.directory.path))
        #expect(restored.count == 1)
        return try #require(restored.first)
    }

    @Test func `restoring twice starts nothing, and each handle has to resume`() async throws {
        try await LifecycleStage.with { stage async throws in
            try await leave(stage)
            let handles = [try await restore(stage), try await restore(stage)]
            await stage.performEffects()
            #expect(handles.map(\.state) == [.paused, .paused])
            #expect(stage.transport.open.isEmpty)
            handles[1].resume()
            await stage.finish(handles[1], Moment.object)
            #expect(handles.map(\.state) == [.completed, .completed])
            #expect(stage.transport.exchanges.map(\.offset) == [0, Moment.byteCount])
        }
    }

    @Test func `restoring beside a paused download leaves it paused`() async throws {
        try await LifecycleStage.with { stage async throws in
            let download = stage.downloader.start(try stage.request())
            try await Moment.receiving.reach(on: stage)
            download.pause()
            await stage.endCancelled()
            let restored = try await restore(stage)
            await stage.performEffects()
            #expect(download.state == .paused)
            #expect(restored.state == .paused)
            #expect(stage.transport.open.isEmpty)
            restored.resume()
            await stage.finish(restored, Moment.object)
        }
    }

    @Test func `restoring beside a running download does not disturb it`() async throws {
        try await LifecycleStage.with { stage async throws in
            let download = stage.downloader.start(try stage.request())
            try await Moment.receiving.reach(on: stage)
            await stage.storeSettles()
            let restored = try await stage.downloader.restore(in: URL(fileURLWithPath: stage.directory.path))
            #expect(download.state == .downloading)
            #expect(restored.allSatisfy { $0.state == .paused })
            await stage.finish(download, Moment.object)
            #expect(restored.allSatisfy { $0.state == .completed })
        }
    }

    @Test func `restoring while a canceled download is being closed keeps it, paused`() async throws {
        try await LifecycleStage.with { stage async throws in
            try await leave(stage)
            let running = stage.downloader.start(try stage.request())
            await stage.performEffects()
            running.cancel()
            let restored = try await restore(stage)
            await stage.endCancelled()
            #expect(restored.state == .paused)
            restored.resume()
            await stage.finish(restored, Moment.object)
            #expect(stage.holds(Moment.object.content))
        }
    }
}
