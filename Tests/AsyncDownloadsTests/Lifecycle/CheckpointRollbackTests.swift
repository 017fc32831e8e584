import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Bytes that may not be what they seem, as another process would find them.
@Suite(.endsWhenHung)
struct CheckpointRollbackTests {
    private let object = SteppedObject(content: Content(seed: 9, length: 900_000), tag: "\"a\"")

    @Test func `rule 30: what a response brought that says too much is on no record`() async throws {
        try await LifecycleStage.with { stage async throws in
            let download = stage.downloader.start(try stage.request())
            try await interrupt(on: stage)
            // After the first excess the same range is asked for again, after the second one the whole.
            for _ in 0..<2 {
                let exchange = try #require(stage.transport.open.first)
                #expect(exchange.offset == 400_000)
                exchange.answer(object)
                await stage.performEffects()
                exchange.deliver(500_000)
                await stage.storeSettles()
                let before = try stage.keptCounts()
                #expect(before == [900_000], "nobody knows yet")
                exchange.exceed()
                await stage.endCancelled()
                await stage.storeSettles()
                let after = try stage.keptCounts()
                #expect(after == [400_000])
                stage.time.advance(by: .seconds(60))
                await stage.performEffects()
            }
            await stage.finish(download, object)
            #expect(stage.holds(object.content))
        }
    }

    @Test func `rule 35: what a digest has to prove is on record before the first byte of it`() async throws {
        try await LifecycleStage.with { stage async throws in
            let other = SteppedObject(content: object.content, tag: "\"b\"")
            var request = try stage.request()
            request.checksum = object.content.sha256
            request.contentChangePolicy = .verify
            let download = stage.downloader.start(request)
            try await interrupt(on: stage)
            // The whole body of another node, which is not taken; then the rest, without a condition.
            try #require(stage.transport.open.first).answer(other)
            await stage.endCancelled()
            let third = try #require(stage.transport.open.first)
            #expect(third.answer(other))
            await stage.storeSettles()
            third.deliver(1000)
            let kept = try #require(try stage.kept().first)
            #expect(kept.representation.unverifiedFrom == 400_000)
            #expect(kept.received.count == 401_000)
            await stage.finish(download, other)
            #expect(stage.holds(object.content))
        }
    }

    /// Lets the first exchange break off after 400,000 bytes, and the next one begin.
    private func interrupt(on stage: LifecycleStage) async throws {
        await stage.performEffects()
        let first = try #require(stage.transport.open.first)
        first.answer(object)
        await stage.performEffects()
        first.deliver(400_000)
        first.end(.failed(DownloadError(.connectionLost)))
        await stage.performEffects()
        stage.time.advance(by: .seconds(60))
        await stage.performEffects()
        #expect(stage.transport.open.first?.offset == 400_000)
    }
}
