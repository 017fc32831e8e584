#if ServerStack
internal import AsyncDownloads
internal import Foundation

/// Many downloads of one downloader, from its first to what is left after it.
struct SoakSession: Sendable {
    /// The process after a part of the downloads.
    struct Tenth: Sendable, Hashable, Codable {
        var downloads: Int
        /// Since the beginning.
        var seconds: Double
        var process: ProcessSample
        /// Handles that are still alive although their download has ended.
        var handles: Int
    }

    /// What a session leaves.
    struct Result: Sendable {
        var tenths: [Tenth] = []
        var counts = Tally.Counts()
        /// How long the downloads took, what comes after them left out.
        var duration = Duration.zero
        /// Files at their destinations, and unfinished ones that were kept.
        var finishedCount = 0
        var keptCount = 0
        /// What was wrong with what was left.
        var findings: [String] = []
    }

    /// How many downloads are begun and have not ended.
    static let window = 300

    let site: SoakSite
    let downloads: Int
    let seed: UInt64
    let engine: Engine

    func run() async throws -> Result {
        var result = Result()
        let tally = Tally()
        let releaser = Task { await releaseAgainAndAgain() }
        let watchdog = Watchdog(tally)
        defer {
            releaser.cancel()
            watchdog.cancel()
        }
        let remains = try await live(tally, &result)
        result.findings += await remains.findings()
        result.findings += try await Strays(site: site, engine: engine).findings()
        try await Aftermath(site: site, engine: engine).examine(&result)
        result.counts = tally.counts
        return result
    }

    private func live(_ tally: Tally, _ result: inout Result) async throws -> Remains {
        let clock = ContinuousClock()
        let start = clock.now
        let transport = engine.makeTransport()
        let downloader = engine.makeDownloader(Self.configuration, transport)
        for tenth in 0..<10 {
            await live(downloads * tenth / 10..<downloads * (tenth + 1) / 10, downloader, tally)
            result.tenths.append(
                Tenth(
                    downloads: downloads * (tenth + 1) / 10, seconds: (clock.now - start) / .seconds(1),
                    process: try .now(), handles: tally.countHandles()))
        }
        result.duration = clock.now - start
        await downloader.shutdown()
        return Remains(tally: tally, downloader: downloader, transport: transport)
    }

    private func live(_ numbers: Range<Int>, _ downloader: Downloader, _ tally: Tally) async {
        await withTaskGroup(of: Void.self) { group in
            for number in numbers {
                if number - numbers.lowerBound >= Self.window { await group.next() }
                if number % 300 == 0 { site.serve() }
                let life = Life(number: number, seed: seed, resourceCount: SoakSite.resourceCount)
                group.addTask { await life.live(downloader, site, tally) }
            }
        }
    }

    private static var configuration: Downloader.Configuration {
        var configuration = Downloader.Configuration()
        configuration.maximumConcurrentTransfers = 32
        configuration.maximumConcurrentTransfersPerHost = 32
        // The scripts begin again and again, so that an unlucky transfer meets their faults many times.
        configuration.retryPolicy = RetryPolicy(
            maximumRetries: 100, baseDelay: .milliseconds(1), maximumDelay: .milliseconds(20))
        configuration.durability = .processCrash
        configuration.progressInterval = .milliseconds(1)
        return configuration
    }

    private func releaseAgainAndAgain() async {
        while !Task.isCancelled {
            site.release()
            // Cut short where it is cancelled.
            try? await Task.sleep(for: .milliseconds(20))
        }
    }
}
#endif
