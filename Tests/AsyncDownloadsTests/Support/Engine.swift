import AsyncDownloads
import Foundation
import Testing

/// The HTTP engines of this platform, which all have to behave the same way.
enum Engine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    #if ServerStack
    case nio, httpClient
    #endif
    case urlSession

    /// The engine that the library prefers, which this build may not contain.
    static var preferred: Self { allCases[0] }

    var testDescription: String { rawValue }

    var choice: Downloader.TransportChoice {
        switch self {
        #if ServerStack
        case .httpClient: .httpClient
        case .nio: .nio
        #endif
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

    func makeTransport(longestBlock: Duration = .milliseconds(100)) -> any Transport {
        switch self {
        #if ServerStack
        case .httpClient: HTTPClientTransport(connectTimeout: .seconds(900), longestBlock: longestBlock)
        case .nio: NIOTransport(connectTimeout: .seconds(900))
        #endif
        case .urlSession: URLSessionTransport()
        }
    }
}
