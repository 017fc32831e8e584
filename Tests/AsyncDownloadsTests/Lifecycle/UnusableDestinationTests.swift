import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Destinations that become unusable while a request is under way (rule 44).
@Suite("Destinations that become unusable", .endsWhenHung)
struct UnusableDestinationTests {
    private static let small = SteppedObject(content: Content(seed: 81, length: 4000), tag: "\"1\"")
    private static let large = SteppedObject(content: Content(seed: 82, length: 3 << 20), tag: "\"1\"")

    private func makeUnusable(_ name: String, in fixture: LifecycleFixture) throws {
        try FileManager.default.createDirectory(
            atPath: "\(fixture.directory.path)/\(name)", withIntermediateDirectories: false)
    }

    @Test(arguments: [small, large])
    func `rule 44: no byte is received for a destination that is not a file`(_ object: SteppedObject) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            try makeUnusable("file.bin", in: fixture)
            await fixture.step(object)
            #expect(await download.failure?.code == .destinationUnusable)
            #expect(fixture.transport.exchanges[0].isCancelled)
            #expect(download.progress.fetchedByteCount == 0)
        }
    }

    @Test func `an empty file is not finished before it was started`() async throws {
        let empty = SteppedObject(content: Content(seed: 83, length: 0), tag: "\"1\"")
        try await LifecycleFixture.with { fixture async throws in
            let first = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            try makeUnusable("file.bin", in: fixture)
            fixture.transport.exchanges[0].answer(empty)
            #expect(await first.failure?.code == .destinationUnusable)
            // The transfer is joined while its exchange is still being canceled.
            let second = fixture.downloader.start(try fixture.request(to: "second.bin"))
            await fixture.finish(second, empty)
            #expect(second.state == .completed)
        }
    }

    @Test func `rule 44: no byte is received for a download without subscribers`() async throws {
        try await LifecycleFixture.with(configure: { $0.abandonmentPolicy = .finish }) { fixture async throws in
            fixture.downloader.start(try fixture.request()).cancel()
            await fixture.waitUntilIdle()
            try makeUnusable("file.bin", in: fixture)
            fixture.transport.exchanges[0].answer(Self.large)
            await fixture.waitUntilIdle()
            #expect(fixture.transport.exchanges[0].isCancelled)
        }
    }

    @Test(arguments: [small, large], [false, true])
    func `an unusable destination ends only its own download`(
        _ object: SteppedObject, _ isCanceled: Bool
    ) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let first = fixture.downloader.start(try fixture.request())
            let second = fixture.downloader.start(try fixture.request(to: "second.bin"))
            await fixture.waitUntilIdle()
            if isCanceled { first.cancel() }
            try makeUnusable("file.bin", in: fixture)
            await fixture.finish(second, object)
            #expect(second.state == .completed)
            #expect(await first.failure?.code == (isCanceled ? .cancelled : .destinationUnusable))
            #expect(fixture.holds(object.content, at: "second.bin"))
            #expect(fixture.transport.exchanges.count == 1)
        }
    }
}
