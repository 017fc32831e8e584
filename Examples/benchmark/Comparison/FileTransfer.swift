#if ServerStack
internal import AsyncDownloads
internal import Foundation

/// One file of a workload: its URL and the path at which it is placed.
struct FileTransfer: Sendable {
    let url: URL
    let path: String

    /// A line of a list in a file.
    var line: String { "\(url.absoluteString) \(path)" }

    /// Reads a list, in which a space separates the URL and the path on each line.
    static func read(_ list: URL) throws -> [Self] {
        try String(contentsOf: list, encoding: .utf8).split(separator: "\n").map { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let url = URL(string: String(parts[0])) else {
                throw CocoaError(.fileReadCorruptFile)
            }
            return Self(url: url, path: String(parts[1]))
        }
    }

    /// Downloads the files with the library.
    static func fetch(_ transfers: [Self], jobs: Int, connections: Int) async throws {
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        configuration.maximumConcurrentTransfers = jobs
        configuration.maximumConcurrentTransfersPerHost = jobs
        let downloader = Downloader(configuration: configuration)
        let requests = transfers.lazy.map { transfer in
            var request = DownloadRequest(from: transfer.url, to: URL(fileURLWithPath: transfer.path))
            if connections > 1 { request.connectionCount = connections }
            return request
        }
        for try await outcome in downloader.batch(Array(requests), limit: jobs) { _ = try outcome.result.get() }
        await downloader.shutdown()
    }
}
#endif
