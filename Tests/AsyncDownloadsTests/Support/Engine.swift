import AsyncDownloads
import Foundation
import Testing

/// The engines of this platform, each of which has to behave like the others.
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

    /// Whether the rest of a file is asked for in one piece, rather than in windows.
    var asksForRestAtOnce: Bool {
        #if canImport(FoundationNetworking)
        self != .urlSession
        #else
        true
        #endif
    }

    /// Whether the engine undoes content codings whatever it is told.
    var decodesContent: Bool { self == .urlSession }

    func makeTransport() -> any Transport {
        switch self {
        case .httpClient: HTTPClientTransport(connectTimeout: .seconds(900))
        case .urlSession: URLSessionTransport()
        }
    }
}
