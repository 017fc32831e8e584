internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension ExchangeEnd {
    /// What the error that a task completed with means.
    ///
    /// A body that ends early without any error is found by counting, above.
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
        let meaning = Self.isAboutTLS(error, code, hasHead: hasHead) ? .secureConnectionFailed : Self.meaning(of: code)
        // A session does not tell why it could make no socket.
        if !hasHead, meaning == .connectionLost || meaning == .cannotConnect,
            let shortage = DescriptorShortage.error()
        {
            self = .failed(shortage)
            return
        }
        // The error's userInfo holds full URLs, so neither it nor the error's own text goes into the detail.
        self = .failed(DownloadError(meaning, "URLError \(code.rawValue)", underlyingError: error))
    }

    private static func meaning(of code: URLError.Code) -> DownloadError.Code {
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

    /// Whether a connection could not be made secure, of which FoundationNetworking (6.3) has no more than libcurl's
    /// text: "SSL certificate problem: ...", "SSL: ...", or OpenSSL's "...:SSL routines:...".
    ///
    /// After the head it is a connection that broke off without a closing alert.
    private static func isAboutTLS(_ error: any Error, _ code: URLError.Code, hasHead: Bool) -> Bool {
        guard code == .unknown, !hasHead else { return false }
        let text = error.localizedDescription
        return text.hasPrefix("SSL") || text.contains(":SSL routines:")
    }
}
