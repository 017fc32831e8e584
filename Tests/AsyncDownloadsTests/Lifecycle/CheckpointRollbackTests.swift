import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Bytes that are recorded as received, and that a later process would trust, although they may be wrong.
@Suite(.endsWhenHung)
struct CheckpointRollbackTests {
    private let object = SteppedObject(content: Content(seed: 9, length: 900_000), tag: "\"a\"")

    @Test func `rule 30: bytes of a response that exceeds its length are not recorded`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            try await interrupt(on: fixture)
            // After the first excess, the same range is requested again; after the second, the whole file.
            for _ in 0..<2 {
                let exchange = try #require(fixture.transport.open.first)
                #expect(exchange.offset == 400_000)
                exchange.answer(object)
                await fixture.waitUntilIdle()
                exchange.deliver(500_000)
                await fixture.waitForStore()
                let before = try fixture.keptCounts()
                #expect(before == [900_000], "the excess is not known yet")
                exchange.exceed()
                await fixture.endCancelled()
                await fixture.waitForStore()
                let after = try fixture.keptCounts()
                #expect(after == [400_000])
                fixture.time.advance(by: .seconds(60))
                await fixture.waitUntilIdle()
            }
            await fixture.finish(download, object)
            #expect(fixture.holds(object.content))
        }
    }

    @Test func `rule 35: unverified bytes are recorded as such before the first of them is written`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let other = SteppedObject(content: object.content, tag: "\"b\"")
            var request = try fixture.request()
            request.checksum = object.content.sha256
            request.contentChangePolicy = .verify
            let download = fixture.downloader.start(request)
            try await interrupt(on: fixture)
            // The whole body of another node is not used; the rest is then requested without a condition.
            try #require(fixture.transport.open.first).answer(other)
            await fixture.endCancelled()
            let third = try #require(fixture.transport.open.first)
            #expect(third.answer(other))
            await fixture.waitForStore()
            third.deliver(1000)
            let kept = try #require(try fixture.kept().first)
            #expect(kept.representation.unverifiedFrom == 400_000)
            #expect(kept.received.count == 401_000)
            await fixture.finish(download, other)
            #expect(fixture.holds(object.content))
        }
    }

    /// Fails the first exchange after 400,000 bytes, and waits for the next one to start.
    private func interrupt(on fixture: LifecycleFixture) async throws {
        await fixture.waitUntilIdle()
        let first = try #require(fixture.transport.open.first)
        first.answer(object)
        await fixture.waitUntilIdle()
        first.deliver(400_000)
        first.end(.failed(DownloadError(.connectionLost)))
        await fixture.waitUntilIdle()
        fixture.time.advance(by: .seconds(60))
        await fixture.waitUntilIdle()
        #expect(fixture.transport.open.first?.offset == 400_000)
    }
}
