#if ServerStack
internal import ArgumentParser
internal import AsyncDownloads

/// The values of `--engine`.
enum Engine: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    case httpClient = "http-client"
    case urlSession = "urlsession"

    /// Returns a downloader with a new transport of the engine.
    func makeDownloader(_ configuration: Downloader.Configuration) -> Downloader {
        makeDownloader(configuration, makeTransport())
    }

    /// Returns a downloader with this transport.
    func makeDownloader(_ configuration: Downloader.Configuration, _ transport: any Transport) -> Downloader {
        Downloader(
            configuration: configuration, transport: transport, store: DiskStore(durability: configuration.durability),
            time: SystemTimeSource())
    }

    func makeTransport() -> any Transport {
        switch self {
        case .httpClient: HTTPClientTransport()
        case .urlSession: URLSessionTransport()
        }
    }
}
#endif
