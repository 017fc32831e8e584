import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// Origins that fail or don't answer, and the downloads of other origins, which they must not delay (rule 58).
@Suite(.endsWhenHung)
struct HostFairnessTests {
    private static let good = "https://good.example"
    private static let bad = "https://bad.example"

    @Test(arguments: [1, 2, 4])
    func `an origin that doesn't answer delays the files of another one by two seconds`(limit: Int) async throws {
        try await SimulatedFixture.with(
            configure: { $0.maximumConcurrentTransfers = limit },
            reply: { url, _ in url.host() == "bad.example" ? .silence : .response(200) }
        ) { fixture async throws in
            let silent = (0..<10).map { fixture.start("\(Self.bad)/\($0)") }
            let files = (0..<10).map { fixture.start("\(Self.good)/\($0)") }
            await fixture.waitUntilIdle()
            #expect(!files.contains { $0.state.isFinal })
            #expect(silent.allSatisfy { ($0.snapshot.waitingReason ?? .turn) == .turn })
            await fixture.advance { files.allSatisfy(\.state.isFinal) || fixture.time.now >= .seconds(20) }
            // A limit of one is never exceeded.
            #expect(fixture.time.now == .seconds(limit == 1 ? 20 : 2))
            #expect(fixture.servers.requests.count { $0.host() == "bad.example" } == limit)
            #expect(silent.dropFirst(limit).allSatisfy { $0.snapshot.waitingReason == .noResponse })
            for download in silent { download.cancel() }
        }
    }

    @Test(arguments: [Int.min, -1, 0])
    func `a number of transfers below one counts as one`(limit: Int) async throws {
        try await SimulatedFixture.with(
            configure: { $0.maximumConcurrentTransfers = limit }, reply: { _, _ in .response(200) }
        ) { fixture async throws in
            let downloads = (0..<3).map { fixture.start("\(Self.good)/\($0)") }
            for download in downloads { _ = try await download.file }
        }
    }

    @Test(arguments: [false, true])
    func `downloads that wait for a retry don't hold up others`(each: Bool) async throws {
        try await SimulatedFixture.with(reply: { url, _ in
            .response(url.host() == "bad.example" ? 500 : 200)
        }) { fixture async throws in
            let requests =
                (0..<50).map { fixture.request("\(Self.bad)/\($0)") }
                + (0..<10).map { fixture.request("\(Self.good)/\($0)") }
            let finishedCount = Mutex(0)
            let note: @Sendable (BatchOutcome) -> Void = { outcome in
                if case .success = outcome.result { finishedCount.withLock { $0 += 1 } }
            }
            let run = Task {
                if each {
                    try await fixture.downloader.downloadEach(requests, limit: 10) { note($0) }
                } else {
                    for try await outcome in fixture.downloader.batch(requests, limit: 10) { note(outcome) }
                }
            }
            await stop(run) { finishedCount.withLock { $0 == 10 } }
            #expect(finishedCount.withLock { $0 } == 10)
        }
    }

    @Test(arguments: [false, true])
    func `downloads of origins that can't be reached don't hold up those of others`(each: Bool) async throws {
        try await SimulatedFixture.with(reply: { url, _ in
            url.host()?.hasPrefix("bad") == true ? .unreachable : .response(200)
        }) { fixture async throws in
            let requests =
                (0..<90).map { fixture.request("https://bad\($0 % 9).example/\($0)") }
                + (0..<30).map { fixture.request("\(Self.good)/\($0)") }
            let finishedCount = Mutex(0)
            let batch = Task {
                if each, #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
                    try await fixture.downloader.downloadEach(requests, limit: 8) { outcome in
                        if case .success = outcome.result { finishedCount.withLock { $0 += 1 } }
                    }
                } else {
                    for try await outcome in fixture.downloader.batch(requests, limit: 8) {
                        if case .success = outcome.result { finishedCount.withLock { $0 += 1 } }
                    }
                }
            }
            await stop(batch) { finishedCount.withLock { $0 == 30 } }
            #expect(finishedCount.withLock { $0 } == 30)
        }
    }

    @Test(arguments: [false, true])
    func `origins that never answer don't hold up the downloads of others in a batch`(each: Bool) async throws {
        try await SimulatedFixture.with(
            configure: { ($0.maximumConcurrentTransfers, $0.idleTimeout) = (4, .unlimited) },
            reply: { url, _ in url.host() == "good.example" ? .response(200) : .silence }
        ) { fixture async throws in
            let requests =
                (0..<20).map { fixture.request("https://silent\($0).example/") }
                + (0..<10).map { fixture.request("\(Self.good)/\($0)") }
            let results = Mutex<[Result<DownloadedFile, DownloadError>]>([])
            let batch = Task {
                if each, #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
                    try await fixture.downloader.downloadEach(requests, limit: 4) { outcome in
                        results.withLock { $0.append(outcome.result) }
                    }
                } else {
                    for try await outcome in fixture.downloader.batch(requests, limit: 4) {
                        results.withLock { $0.append(outcome.result) }
                    }
                }
            }
            // Only downloads of the good origin end.
            await fixture.advance { results.withLock { $0.count == 10 } }
            #expect(results.withLock { $0 }.allSatisfy { $0.failure == nil })
            batch.cancel()
            _ = await batch.result
        }
    }

    @Test func `a batch with a lower limit than the downloader's sends no more requests to silent origins`()
        async throws
    {
        try await SimulatedFixture.with(
            configure: { ($0.maximumConcurrentTransfers, $0.idleTimeout) = (4, .unlimited) },
            reply: { _, _ in .silence }
        ) { fixture async throws in
            let requests = (0..<8).map { fixture.request("https://silent\($0).example/") }
            let batch = Task { for try await _ in fixture.downloader.batch(requests, limit: 2) {} }
            while fixture.servers.requests.count < 2 { await Task.yield() }
            await fixture.advance { fixture.time.now >= .seconds(60) }
            #expect(fixture.downloader.heldUpCount == 2)
            #expect(fixture.servers.requests.count == 2)
            batch.cancel()
            _ = await batch.result
        }
    }

    /// Cancels a batch when the condition holds, or the batch has ended; the clock stands still.
    private func stop(_ batch: Task<Void, any Error>, when condition: () -> Bool) async {
        let hasEnded = Mutex(false)
        let end = Task {
            _ = await batch.result
            hasEnded.withLock { $0 = true }
        }
        while !condition(), !hasEnded.withLock({ $0 }) { await Task.yield() }
        batch.cancel()
        await end.value
    }
}
