#if ServerStack
internal import ArgumentParser
internal import AsyncDownloads

/// The values of `--engine`.
enum Engine: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    case httpClient = "http-client"
    case urlSession = "urlsession"

    /// A downloader over an engine of its own.
    func makeDownloader(_ configuration: Downloader.Configuration) -> Downloader {
        makeDownloader(configuration, makeTransport())
    }

    /// A downloader over `transport`.
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
