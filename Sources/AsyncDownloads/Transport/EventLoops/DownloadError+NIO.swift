#if ServerStack
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

extension DownloadError {
    /// Creates an error from an error of NIO; a download error is used unchanged.
    ///
    /// - Parameters:
    ///   - error: The reported error.
    ///   - hasHead: Whether the exchange received a response head before the error.
    init(nio error: any Error, hasHead: Bool) {
        switch error {
        case let error as DownloadError:
            self = error
        case let error as NIOConnectionError:
            self = Self.connectionFailure(error)
        case let error as IOError where Self.exhaustions.contains(error.errnoCode):
            self.init(.tooManyOpenFiles, SystemErrorText.text(error.errnoCode), underlyingError: error)
        case let error as IOError where Self.refusals.contains(error.errnoCode):
            self.init(
                hasHead ? .connectionLost : .cannotConnect, SystemErrorText.text(error.errnoCode),
                underlyingError: error, isOffline: Self.offlineNumbers.contains(error.errnoCode))
        case let error as NIOSSLError where error == .uncleanShutdown:
            // The handshake was complete, or it would have failed with another error.
            self.init(.connectionLost, "the connection ended without a closing alert", underlyingError: error)
        case let error as NIOSSLError where error == .handshakeFailed(.sslError([.eofDuringHandshake])):
            // A server that is starting or overloaded may end a handshake.
            self.init(
                .secureConnectionFailed, "the connection ended during the handshake", underlyingError: error,
                isRetryable: true)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            // After the head, such an error means that the connection ended without a closing alert.
            self.init(hasHead ? .connectionLost : .secureConnectionFailed, underlyingError: error)
        case let error as HTTPParserError:
            // The parser reports a connection that is closed inside a message as an invalid state at the end of input.
            let isTruncation = error == .invalidEOFState
            self.init(
                isTruncation ? .connectionLost : .malformedResponse, "\(error)", underlyingError: error,
                isRetryable: isTruncation)
        default:
            self.init(.connectionLost, "\(error)", underlyingError: error)
        }
    }

    /// The error codes of a failed connection to a literal address, which isn't reported as an `NIOConnectionError`, and
    /// of a connection whose peer can't be reached anymore.
    private static let refusals = Set(
        [
            POSIXErrorCode.ECONNREFUSED, .EHOSTUNREACH, .ENETUNREACH, .EHOSTDOWN, .ENETDOWN, .EADDRNOTAVAIL,
        ].map(\.rawValue))

    /// The codes that report that no descriptor was available for a socket.
    private static let exhaustions = Set([POSIXErrorCode.EMFILE, .ENFILE].map(\.rawValue))

    private static func connectionFailure(_ error: NIOConnectionError) -> DownloadError {
        if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
            let failures = [error.dnsAError, error.dnsAAAAError].compactMap { $0 as? DownloadError }
            if let shortage = failures.first(where: { $0.code == .tooManyOpenFiles }) { return shortage }
            return DownloadError(.hostNotFound, error.host, underlyingError: error)
        }
        let failures = error.connectionErrors.compactMap { $0.error as? IOError }
        if let failure = failures.first(where: { exhaustions.contains($0.errnoCode) }) {
            return DownloadError(nio: failure, hasHead: false)
        }
        let reason = error.connectionErrors.first.map { "\($0.error)" } ?? "the host has no address"
        // A device without IPv6 reports an unreachable network for a host's IPv6 addresses, so one such error isn't
        // enough.
        let isOffline =
            !failures.isEmpty && failures.count == error.connectionErrors.count
            && failures.allSatisfy { offlineNumbers.contains($0.errnoCode) }
        return DownloadError(.cannotConnect, reason, underlyingError: error, isOffline: isOffline)
    }
}
#endif
