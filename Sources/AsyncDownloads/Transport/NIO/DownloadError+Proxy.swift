#if ServerStack
internal import NIOCore
internal import NIOHTTP1
internal import NIOSOCKS
internal import NIOSSL

extension DownloadError {
    /// Creates the error for a proxy that responds to CONNECT with an unsuccessful status.
    init(proxyStatus status: StatusCode) {
        let detail =
            status.code == 407 ? "requires other credentials (407)" : "responded with \(status.code) to CONNECT"
        self.init(.proxyFailed, detail, isRetryable: status.isRetryable)
    }

    /// Creates an error from the error of a tunnel that could not be opened; a download error is used unchanged.
    init(tunnel error: any Error) {
        switch error {
        case let error as SOCKSError.ConnectionFailed:
            let isRefusal = [.notAllowed, .commandUnsupported, .addressUnsupported].contains(error.reply)
            self.init(
                .proxyFailed, "responded with \(Self.text(of: error.reply))", underlyingError: error,
                isRetryable: !isRefusal)
        case let error as SOCKSError.InvalidAuthenticationSelection:
            self.init(.proxyFailed, "accepts none of the offered ways to authenticate", underlyingError: error)
        case HTTPParserError.invalidEOFState, ChannelError.eof, ChannelError.ioOnClosedChannel, is IOError,
            NIOSSLError.uncleanShutdown:
            self.init(.proxyFailed, "closed the connection", underlyingError: error, isRetryable: true)
        case is HTTPParserError, is SOCKSError.InvalidProtocolVersion, is SOCKSError.InvalidReservedByte,
            is SOCKSError.InvalidAddressType, is SOCKSError.UnexpectedRead:
            self.init(.proxyFailed, "doesn't speak the protocol of its scheme", underlyingError: error)
        default:
            self.init(nio: error, hasHead: false)
        }
    }

    /// Returns the error with the proxy's name in front of its detail.
    func about(_ proxy: ProxyServer) -> Self {
        var error = self
        error.detail = "the proxy \(proxy)" + (detail.isEmpty ? "" : ": \(detail)")
        return error
    }

    /// Returns the meaning of a SOCKS reply (RFC 1928, 6).
    private static func text(of reply: SOCKSServerReply) -> String {
        switch reply {
        case .serverFailure: "a general failure"
        case .notAllowed: "a refusal by its rules"
        case .networkUnreachable: "an unreachable network"
        case .hostUnreachable: "an unreachable host"
        case .refused: "a refused connection"
        case .ttlExpired: "an expired time to live"
        case .commandUnsupported: "an unsupported command"
        case .addressUnsupported: "an unsupported type of address"
        default: "the unknown reply \(reply.value)"
        }
    }
}
#endif
