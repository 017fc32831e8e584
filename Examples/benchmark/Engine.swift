internal import ArgumentParser
internal import AsyncDownloads

/// The values of `--engine`.
enum Engine: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    #if ServerStack
    case nio
    case httpClient = "http-client"
    #endif
    case urlSession = "urlsession"

    /// The engine that the library prefers, which this build may not contain.
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

    /// - Parameter roots: Root certificates that are trusted in addition to the system's; not with URLSession.
    func makeTransport(trusting roots: TrustRoots? = nil) -> any Transport {
        switch self {
        #if ServerStack
        case .httpClient: HTTPClientTransport(additionalTrustRoots: roots)
        case .nio: NIOTransport(security: SecuritySettings(additionalTrustRoots: roots))
        #endif
        case .urlSession: URLSessionTransport()
        }
    }
}
