import AsyncDownloads
import Foundation
import Testing

/// The HTTP engines of this platform, which all have to behave the same way.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case httpClient
    case urlSession

    var testDescription: String { rawValue }

    var choice: Downloader.TransportChoice {
        switch self {
        case .httpClient: .httpClient
        case .urlSession: .urlSession
        }
    }

    /// Whether the rest of a file is requested at once instead of in segments.
    var asksForRestAtOnce: Bool {
        #if canImport(FoundationNetworking)
        self != .urlSession
        #else
        true
        #endif
    }

    /// Whether the engine always decodes content codings.
    var decodesContent: Bool { self == .urlSession }

    func makeTransport() -> any Transport {
        switch self {
        case .httpClient: HTTPClientTransport(connectTimeout: .seconds(900))
        case .urlSession: URLSessionTransport()
        }
    }
}
