internal import AsyncDownloads
internal import Foundation

/// The downloads of a workload with the library.
struct LibraryFetch: Sendable {
    private let options: FetchOptions

    init(_ options: FetchOptions) {
        self.options = options
    }

    /// Downloads the files.
    func run(_ transfers: [FileTransfer]) async throws {
        let downloader = Downloader(configuration: try configuration)
        if options.subscribers > 1 || options.hasUnreadHandle {
            for transfer in transfers { try await shareTransfer(request(transfer), downloader) }
        } else {
            try await finish(downloader.batch(transfers.lazy.map(request)))
        }
        await downloader.shutdown()
    }

    private var configuration: Downloader.Configuration {
        get throws {
            var configuration = Downloader.Configuration()
            if let jobs = options.jobs {
                configuration.maximumConcurrentTransfers = jobs
                configuration.maximumConcurrentTransfersPerHost = jobs
            }
            if let durability = options.durability { configuration.durability = durability.policy }
            if options.retriesAtOnce { configuration.retryPolicy.baseDelay = .zero }
            configuration.bandwidthLimit = options.limitRate.map(ByteRate.bytesPerSecond) ?? .unlimited
            if let engine = options.engine { configuration.transport = engine.choice }
            if let rootFile = options.rootFile {
                configuration.additionalTrustRoots = try TrustRoots(pemFile: URL(fileURLWithPath: rootFile))
            }
            return configuration
        }
    }

    private func request(_ transfer: FileTransfer) -> DownloadRequest {
        let destination = URL(filePath: transfer.path, directoryHint: .notDirectory)
        var request = DownloadRequest(from: transfer.url, to: destination)
        if let connections = options.connections { request.connectionCount = connections }
        if let sha256 = options.sha256 { request.checksum = Checksum("sha-256=\(sha256)") }
        return request
    }

    private func finish(_ batch: DownloadBatch<some Sequence<DownloadRequest>>) async throws {
        for try await outcome in batch { _ = try outcome.result.get() }
    }

    /// Downloads one file with several handles.
    private func shareTransfer(_ request: DownloadRequest, _ downloader: Downloader) async throws {
        let unread = options.hasUnreadHandle ? downloader.start(request) : nil
        let unreadEvents = unread?.events
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<options.subscribers {
                let download = downloader.start(request)
                group.addTask { for try await _ in download.events {} }
            }
            try await group.waitForAll()
        }
        withExtendedLifetime((unread, unreadEvents)) {}
    }
}
