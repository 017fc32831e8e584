import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Downloads over several connections on the real disk, in an order and with faults drawn from a seed.
@Suite(.endsWhenHung(minutes: 5))
struct SeveralExchangesTests {
    private static let mebibyte: Int64 = 1 << 20

    /// After each step another process looks at the disk, as it would after a kill.
    @Test(arguments: UInt64(0)..<8)
    func `rules 38, 53, and 54: after a kill at any time, every reported byte is found, and none that is wrong`(
        seed: UInt64
    ) async throws {
        try await LifecycleFixture.with { fixture async throws in
            var generator = SplitMix64(seed: seed)
            let object = SteppedObject(content: Content(seed: seed, length: 6 * Self.mebibyte + 77), tag: "\"a\"")
            var request = try fixture.request()
            request.connectionCount = 2 + Int(seed % 4)
            request.retryPolicy = RetryPolicy(maximumRetries: 1000, maximumDelay: .seconds(5))
            let download = fixture.downloader.start(request)
            await fixture.waitUntilIdle()
            for _ in 0..<60 where !download.state.isFinal {
                await step(fixture, download, object, &generator)
                await fixture.waitForStore()
                guard Int.random(in: 0..<4, using: &generator) == 0 else { continue }
                try checkDisk(fixture, download, object)
            }
            download.resume()
            await fixture.finish(download, object)
            #expect(fixture.holds(object.content))
            let written = try await download.file.fetchedByteCount
            #expect(written >= object.content.length)
        }
    }

    private func step(
        _ fixture: LifecycleFixture, _ download: Download, _ object: SteppedObject, _ generator: inout SplitMix64
    ) async {
        let exchange = fixture.transport.open.randomElement(using: &generator)
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: download.pause()
        case 1, 2: download.resume()
        case 3: fixture.time.advance(by: .seconds(Int.random(in: 1...9, using: &generator)))
        case 4: exchange?.end(.failed(DownloadError(.connectionLost)))
        case 5 where exchange?.object == nil: exchange?.refuse(503)
        default:
            guard let exchange else { return fixture.time.advance(by: .seconds(6)) }
            if exchange.isCancelled { return exchange.end(.cancelled) }
            if exchange.object == nil {
                exchange.answer(object)
            } else {
                exchange.deliver(Int64.random(in: 1...Self.mebibyte, using: &generator))
                if exchange.remainingByteCount == 0 { exchange.end(.complete) }
            }
        }
    }

    private func checkDisk(_ fixture: LifecycleFixture, _ download: Download, _ object: SteppedObject) throws {
        let kept = try fixture.kept().first?.received ?? IntervalSet()
        guard !download.state.isFinal else { return }
        #expect(kept.count >= download.progress.receivedByteCount, "a reported byte would be lost")
        guard !kept.isEmpty else { return }
        let bytes = try #require(fixture.directory.bytes(at: fixture.directory.partialPath))
        for range in kept.ranges {
            #expect(range.upperBound <= bytes.count)
            let isRight = bytes[Int(range.lowerBound)..<min(bytes.count, Int(range.upperBound))]
                .withUnsafeBytes { object.content.matches($0, at: range.lowerBound) }
            #expect(isRight, "\(range) is claimed and was not written")
        }
    }
}
