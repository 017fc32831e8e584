internal import ArgumentParser
internal import AsyncDownloads

/// The values of `--engine`.
enum Engine: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    #if ServerStack
    case nio
    case httpClient = "http-client"
    #endif
    case urlSession = "urlsession"

    /// The one that the library prefers, which this build may not contain.
    static var preferred: Self { allCases[0] }

    var choice: Downloader.TransportChoice {
        switch self {
        #if ServerStack
        case .nio: .nio
        case .httpClient: .httpClient
        #endif
        case .urlSession: .urlSession
        }
    }

    /// Returns a downloader with a new transport of the engine.
    func makeDownloader(_ configuration: Downloader.Configuration) -> Downloader {
        makeDownloader(configuration, makeTransport())
    }

    /// Returns a downloader with this transport.
    func makeDownloader(_ configuration: Downloader.Configuration, _ transport: any Transport) -> Downloader {
        Downloader(
            configuration: configuration, transport: transport,
            store: PartialStore(durability: configuration.durability),
            time: SystemTimeSource())
    }

    func makeTransport() -> any Transport {
        switch self {
        #if ServerStack
        case .httpClient: HTTPClientTransport()
        case .nio: NIOTransport()
        #endif
        case .urlSession: URLSessionTransport()
        }
    }
}
