internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer

/// The costs of downloads that wait for a permit.
struct QueueMeasurement: Sendable, Codable {
    let downloads: Int
    /// The resident memory of one download, including its request, in bytes.
    let bytesPerDownload: Double
    /// The time in which the requests, with their URLs, were created.
    let requestSeconds: Double
    /// The time in which all downloads were started.
    let startSeconds: Double
    /// The time in which all downloads were canceled.
    let cancelSeconds: Double

    /// Starts the downloads against a host that doesn't respond, and cancels all of them.
    ///
    /// The memory of the requests and of the handles, which are kept, counts.
    static func measure(_ count: Int, _ engine: Engine) async throws -> Self {
        let directory = try TemporaryDirectory("scale")
        defer { directory.remove() }
        return try await LoopbackServer.withServer { server in
            var resource = Resource(Content(seed: 1, length: 1), script: [[.holdHead]])
            resource.repeatsLastStep = true
            // The measured downloads wait behind this one.
            server.serve(resource, at: "held")
            var configuration = Downloader.Configuration()
            configuration.maximumConcurrentTransfersPerHost = 1
            let downloader = engine.makeDownloader(configuration)
            let held = downloader.start(DownloadRequest(from: server.url("held"), to: directory.file("held")))
            _ = await server.requests(at: "held", reaching: 1)
            let measurement = try queue(count, downloader, server, directory)
            held.cancel()
            await downloader.shutdown()
            return measurement
        }
    }

    private static func queue(
        _ count: Int, _ downloader: Downloader, _ server: LoopbackServer, _ directory: TemporaryDirectory
    ) throws -> Self {
        let clock = ContinuousClock()
        var requests: [DownloadRequest] = []
        requests.reserveCapacity(count)
        var downloads: [Download] = []
        downloads.reserveCapacity(count)
        let before = try ProcessSample.now()
        let creating = clock.measure {
            for number in 0..<count {
                requests.append(
                    DownloadRequest(from: server.url("files/\(number).bin"), to: directory.file("\(number).bin")))
            }
        }
        let starting = clock.measure {
            for request in requests { downloads.append(downloader.start(request)) }
        }
        let after = try ProcessSample.now()
        let canceling = clock.measure {
            for download in downloads { download.cancel() }
        }
        return Self(
            downloads: count,
            bytesPerDownload: Double(after.residentBytes - before.residentBytes) / Double(count),
            requestSeconds: creating / .seconds(1), startSeconds: starting / .seconds(1),
            cancelSeconds: canceling / .seconds(1))
    }
}
