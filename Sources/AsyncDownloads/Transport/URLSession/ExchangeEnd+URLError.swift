#if canImport(Darwin) || LinuxURLSession || !ServerStack
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension ExchangeEnd {
    /// Creates an end from the error with which a task completed; `nil` for a task without an error.
    ///
    /// A body that ends early without an error is detected by a higher layer, which counts the bytes.
    ///
    /// - Parameters:
    ///   - error: The error that the session reported.
    ///   - hasHead: Whether the exchange received a response head before the error.
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
        let meaning = Self.isTLSError(error, code, hasHead: hasHead) ? .secureConnectionFailed : Self.meaning(of: code)
        // A session doesn't report why it couldn't create a socket.
        if !hasHead, [.connectionLost, .cannotConnect, .hostNotFound].contains(meaning),
            let shortage = DescriptorShortage.error()
        {
            self = .failed(shortage)
            return
        }
        if let error = error as? URLError, error.isNetworkForbidden {
            self = .failed(DownloadError(.networkNotPermitted, "URLError \(code.rawValue)", underlyingError: error))
            return
        }
        // The error's userInfo contains full URLs, so neither it nor the error's description is used for the detail.
        self = .failed(
            DownloadError(
                meaning, "URLError \(code.rawValue)\(Self.hint(for: code))", underlyingError: error,
                isRetryable: Self.isRetryable(code)))
    }

    /// Returns whether a failure is retryable, if this differs from other failures with the same meaning; otherwise
    /// nil.
    private static func isRetryable(_ code: URLError.Code) -> Bool? {
        switch code {
        // Servers that are starting or overloaded end handshakes; certificate errors have other codes.
        case .secureConnectionFailed: true
        // The next response may be well-formed.
        case .cannotDecodeRawData, .cannotDecodeContentData, .cannotParseResponse, .badServerResponse: true
        default: nil
        }
    }

    private static func hint(for code: URLError.Code) -> String {
        switch code {
        case .appTransportSecurityRequiresSecureConnection:
            ", App Transport Security does not permit http for this host"
        case .userCancelledAuthentication, .userAuthenticationRequired: ", the server requires authentication"
        case .internationalRoamingOff: ", roaming is turned off"
        case .dataNotAllowed: ", the network does not permit data"
        case .callIsActive: ", the network does not permit data during a call"
        default: ""
        }
    }

    private static func meaning(of code: URLError.Code) -> DownloadError.Code {
        switch code {
        case .timedOut:
            .timedOut
        case .cannotFindHost, .dnsLookupFailed:
            .hostNotFound
        case .cannotConnectToHost:
            .cannotConnect
        case .notConnectedToInternet:
            .notConnected
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
            .clientCertificateRequired:
            .secureConnectionFailed
        case .badServerResponse:
            URLError.meaningOfBadServerResponse
        case .badURL, .appTransportSecurityRequiresSecureConnection:
            .invalidRequest
        case .userCancelledAuthentication, .userAuthenticationRequired:
            .httpStatus
        case .internationalRoamingOff, .callIsActive, .dataNotAllowed:
            .networkNotPermitted
        case .cannotDecodeRawData, .cannotDecodeContentData, .cannotParseResponse:
            .malformedResponse
        case .unsupportedURL:
            // The URL was validated before. libcurl reports this code for responses that aren't HTTP.
            .malformedResponse
        default:
            .connectionLost
        }
    }

    /// Returns whether an error with an unknown code means that a secure connection couldn't be established.
    ///
    /// FoundationNetworking (6.3) reports only libcurl's text for such errors: "SSL certificate problem: ...",
    /// "SSL: ...", or OpenSSL's "...:SSL routines:...". After the head, such an error means that the connection ended
    /// without a closing alert.
    private static func isTLSError(_ error: any Error, _ code: URLError.Code, hasHead: Bool) -> Bool {
        guard code == .unknown, !hasHead else { return false }
        let text = error.localizedDescription
        return text.hasPrefix("SSL") || text.contains(":SSL routines:")
    }
}
#endif
