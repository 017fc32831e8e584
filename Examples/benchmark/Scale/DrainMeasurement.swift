internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer

/// The times in which many small files of one host are downloaded: all started at once, and by a batch.
struct DrainMeasurement: Sendable, Codable {
    let files: Int
    /// The number of downloads that run at the same time.
    let width: Int
    /// The times of the rounds in which all downloads were started at once.
    let startedSeconds: [Double]
    /// The times of the rounds in which a batch started each download when another had ended.
    let batchSeconds: [Double]

    /// The ratios of the two times of each round, in ascending order.
    var ratios: [Double] { zip(startedSeconds, batchSeconds).map { $0 / $1 }.sorted() }

    /// The median of the ratios.
    var ratio: Double { ratios[ratios.count / 2] }

    private static let width = 64

    /// Downloads the files in both ways in turn, after one round that isn't counted.
    static func measure(files: Int, rounds: Int, _ engine: Engine) async throws -> Self {
        var (started, batch): ([Double], [Double]) = ([], [])
        try await LoopbackServer.withServer(keepsRequests: false) { server in
            server.serve(Resource(Content(seed: 1, length: 4096), entityTag: "\"1\""), at: "file")
            for round in 0...rounds {
                let first = try await time(files, engine, server, download: Self.startAll)
                let second = try await time(files, engine, server, download: Self.runBatch)
                guard round > 0 else { continue }
                started.append(first)
                batch.append(second)
            }
        }
        return Self(files: files, width: width, startedSeconds: started, batchSeconds: batch)
    }

    private static func time(
        _ files: Int, _ engine: Engine, _ server: LoopbackServer,
        download: (Downloader, [DownloadRequest]) async throws -> Void
    ) async throws -> Double {
        let directory = try TemporaryDirectory("scale")
        defer { directory.remove() }
        var configuration = Downloader.Configuration()
        configuration.maximumConcurrentTransfers = width
        configuration.maximumConcurrentTransfersPerHost = width
        configuration.durability = .processCrash
        let downloader = engine.makeDownloader(configuration)
        let requests = (0..<files).map { number in
            DownloadRequest(from: server.url("file?\(number)"), to: directory.file("\(number).bin"))
        }
        let clock = ContinuousClock()
        let start = clock.now
        try await download(downloader, requests)
        let seconds = (clock.now - start) / .seconds(1)
        await downloader.shutdown()
        return seconds
    }

    private static func startAll(_ downloader: Downloader, _ requests: [DownloadRequest]) async throws {
        let downloads = requests.map { downloader.start($0) }
        for download in downloads { _ = try await download.file }
    }

    private static func runBatch(_ downloader: Downloader, _ requests: [DownloadRequest]) async throws {
        for try await outcome in downloader.batch(requests, limit: width) { _ = try outcome.result.get() }
    }
}
