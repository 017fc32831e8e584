import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Restoring unfinished downloads, which starts no transfer.
@Suite(.endsWhenHung)
struct RestoringTests {
    /// Keeps an unfinished download on disk.
    private func keepUnfinished(_ fixture: LifecycleFixture) async throws {
        let download = fixture.downloader.start(try fixture.request())
        try await InterruptionPoint.receiving.reach(on: fixture)
        download.cancel()
        await fixture.endCancelled()
        #expect(try fixture.keptCounts() == [InterruptionPoint.byteCount])
    }

    private func restore(_ fixture: LifecycleFixture) async throws -> Download {
        let restored = try await fixture.downloader.restore(in: URL(fileURLWithPath: fixture.directory.path))
        #expect(restored.count == 1)
        return try #require(restored.first)
    }

    @Test func `restoring twice starts nothing, and each handle stays paused until it resumes`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            try await keepUnfinished(fixture)
            let handles = [try await restore(fixture), try await restore(fixture)]
            await fixture.waitUntilIdle()
            #expect(handles.map(\.state) == [.paused, .paused])
            #expect(fixture.transport.open.isEmpty)
            handles[1].resume()
            await fixture.finish(handles[1], InterruptionPoint.object)
            #expect(handles.map(\.state) == [.completed, .completed])
            #expect(fixture.transport.exchanges.map(\.offset) == [0, InterruptionPoint.byteCount])
        }
    }

    @Test func `restoring does not resume a paused download of the same file`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.receiving.reach(on: fixture)
            download.pause()
            await fixture.endCancelled()
            let restored = try await restore(fixture)
            await fixture.waitUntilIdle()
            #expect(download.state == .paused)
            #expect(restored.state == .paused)
            #expect(fixture.transport.open.isEmpty)
            restored.resume()
            await fixture.finish(restored, InterruptionPoint.object)
        }
    }

    @Test func `restoring does not affect a running download of the same file`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.receiving.reach(on: fixture)
            await fixture.waitForStore()
            let restored = try await fixture.downloader.restore(in: URL(fileURLWithPath: fixture.directory.path))
            #expect(download.state == .downloading)
            #expect(restored.allSatisfy { $0.state == .paused })
            await fixture.finish(download, InterruptionPoint.object)
            #expect(restored.allSatisfy { $0.state == .completed })
        }
    }

    @Test func `restoring while a canceled download closes restores it as paused`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            try await keepUnfinished(fixture)
            let running = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            running.cancel()
            let restored = try await restore(fixture)
            await fixture.endCancelled()
            #expect(restored.state == .paused)
            restored.resume()
            await fixture.finish(restored, InterruptionPoint.object)
            #expect(fixture.holds(InterruptionPoint.object.content))
        }
    }
}
