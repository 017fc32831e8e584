internal import ArgumentParser
internal import AsyncDownloads

/// The values of `--engine`.
enum Engine: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    case httpClient = "http-client"
    case urlSession = "urlsession"

    func makeTransport() -> any Transport {
        switch self {
        case .httpClient: HTTPClientTransport()
        case .urlSession: URLSessionTransport()
        }
    }
}
