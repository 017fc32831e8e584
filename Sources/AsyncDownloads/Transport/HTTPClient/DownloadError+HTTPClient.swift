#if ServerStack
internal import AsyncHTTPClient

extension DownloadError {
    /// Creates an error from an error of AsyncHTTPClient or NIO; a download error is used unchanged.
    ///
    /// - Parameters:
    ///   - error: The reported error.
    ///   - hasHead: Whether the exchange received a response head before the error.
    init(httpClient error: any Error, hasHead: Bool) {
        if let error = error as? HTTPClientError {
            self.init(Self.code(of: error), "\(error.shortDescription)", underlyingError: error)
        } else {
            self.init(nio: error, hasHead: hasHead)
        }
    }

    private static func code(of error: HTTPClientError) -> Code {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout: .cannotConnect
        case .readTimeout, .writeTimeout, .deadlineExceeded: .timedOut
        case .invalidURL, .emptyHost, .emptyScheme: .invalidRequest
        case .alreadyShutdown: .shutDown
        default: .connectionLost
        }
    }
}
#endif
