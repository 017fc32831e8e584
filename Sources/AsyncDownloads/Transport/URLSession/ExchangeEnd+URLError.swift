internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension ExchangeEnd {
    /// What the error that a task completed with means.
    ///
    /// On Linux a truncated body and an untrusted certificate share one code (-1); whether a head had arrived tells
    /// them apart. A body that ends early without any error is found by counting, above.
    init(_ error: (any Error)?, hasHead: Bool) {
        guard let error else {
            self = .complete
            return
        }
        let code = (error as? URLError)?.code ?? .unknown
        if code == .cancelled {
            self = .cancelled
            return
        }
        // The error's userInfo holds full URLs, so neither it nor the error's own text goes into the detail.
        self = .failed(
            DownloadError(Self.code(for: code, hasHead: hasHead), "URLError \(code.rawValue)", underlyingError: error))
    }

    private static func code(for code: URLError.Code, hasHead: Bool) -> DownloadError.Code {
        switch code {
        case .timedOut:
            .timedOut
        case .cannotFindHost, .dnsLookupFailed:
            .hostNotFound
        case .cannotConnectToHost, .notConnectedToInternet:
            .cannotConnect
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
            .clientCertificateRequired:
            .secureConnectionFailed
        case .badURL:
            .invalidRequest
        case .unsupportedURL:
            // Not the URL's fault, which was looked at before: libcurl says so of answers that are not HTTP.
            .malformedResponse
        default:
            .connectionLost
        }
    }
}
