internal import AsyncDownloads
internal import Foundation

/// A session of many downloads with one downloader, including the checks after its shutdown.
struct SoakSession: Sendable {
    /// A measurement after a part of the downloads.
    struct Tenth: Sendable, Hashable, Codable {
        var downloads: Int
        /// The time since the start of the session.
        var seconds: Double
        var process: ProcessSample
        /// The number of `Download` objects that are in memory although their downloads have ended.
        var handles: Int
    }

    /// The result of a session.
    struct Result: Sendable {
        var tenths: [Tenth] = []
        var counts = Tally.Counts()
        /// The duration of the downloads, without the shutdown and the checks.
        var duration = Duration.zero
        /// The number of files at their destinations.
        var finishedCount = 0
        /// The number of unfinished downloads that were on disk after the shutdown.
        var keptCount = 0
        /// The descriptions of leaks and of wrong files.
        var findings: [String] = []
    }

    /// The maximum number of downloads that have started and have not ended.
    static let window = 300

    let site: SoakSite
    let downloads: Int
    let seed: UInt64
    let engine: Engine

    func run() async throws -> Result {
        var result = Result()
        let tally = Tally()
        let releaser = Task { await releasePeriodically() }
        let watchdog = Watchdog(tally)
        defer {
            releaser.cancel()
            watchdog.cancel()
        }
        let leaks = try await perform(tally, &result)
        result.findings += await leaks.findings()
        result.findings += try await ReleasedDownloaders(site: site, engine: engine).findings()
        try await FileCheck(site: site, engine: engine).examine(&result)
        result.counts = tally.counts
        return result
    }

    private func perform(_ tally: Tally, _ result: inout Result) async throws -> LeakCheck {
        let clock = ContinuousClock()
        let start = clock.now
        let transport = engine.makeTransport()
        let downloader = engine.makeDownloader(Self.configuration, transport)
        for tenth in 0..<10 {
            await perform(downloads * tenth / 10..<downloads * (tenth + 1) / 10, downloader, tally)
            result.tenths.append(
                Tenth(
                    downloads: downloads * (tenth + 1) / 10, seconds: (clock.now - start) / .seconds(1),
                    process: try .now(), handles: tally.countHandles()))
        }
        result.duration = clock.now - start
        await downloader.shutdown()
        return LeakCheck(tally: tally, downloader: downloader, transport: transport)
    }

    private func perform(_ numbers: Range<Int>, _ downloader: Downloader, _ tally: Tally) async {
        await withTaskGroup(of: Void.self) { group in
            for number in numbers {
                if number - numbers.lowerBound >= Self.window { await group.next() }
                if number % 300 == 0 { site.serve() }
                let script = DownloadScript(number: number, seed: seed, resourceCount: SoakSite.resourceCount)
                group.addTask { await script.run(downloader, site, tally) }
            }
        }
    }

    private static var configuration: Downloader.Configuration {
        var configuration = Downloader.Configuration()
        configuration.maximumConcurrentTransfers = 32
        configuration.maximumConcurrentTransfersPerHost = 32
        // The scripts restart repeatedly, so that a transfer may encounter their faults many times.
        configuration.retryPolicy = RetryPolicy(
            maximumRetries: 100, baseDelay: .milliseconds(1), maximumDelay: .milliseconds(20))
        configuration.durability = .processCrash
        configuration.progressInterval = .milliseconds(1)
        return configuration
    }

    private func releasePeriodically() async {
        while !Task.isCancelled {
            site.release()
            // The sleep throws only if the task is canceled, which also ends the loop.
            try? await Task.sleep(for: .milliseconds(20))
        }
    }
}
