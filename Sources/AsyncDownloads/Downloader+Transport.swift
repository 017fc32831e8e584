#if !canImport(Darwin) && !ServerStack
internal import Foundation
#endif

extension Downloader.TransportChoice {
    /// Creates the transport for the chosen engine; the adapters are named only here.
    func makeTransport(maximumConnectionsPerHost: Int) -> any Transport {
        switch kind {
        case .urlSession:
            return URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
        case .httpClient:
            #if ServerStack
            return HTTPClientTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
            #else
            return MissingTransport()
            #endif
        case .automatic:
            #if canImport(Darwin)
            return URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
            #elseif ServerStack
            return HTTPClientTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
            #else
            MissingTraitWarning.writeOnce
            return URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
            #endif
        }
    }
}

#if !canImport(Darwin) && !ServerStack
/// The warning that a server was built without the trait that it needs, usually because the host that resolved the
/// package does not enable it by default.
private enum MissingTraitWarning {
    /// Writes the warning to standard error at the first use in a process; without the trait there is no log.
    static let writeOnce: Void = {
        let text = """
            async-downloads: warning: URLSession is used because the trait ServerStack is not enabled; outside of Apple's \
            platforms it cannot keep all that the package promises. Enable the trait in the dependency, with \
            traits: ["ServerStack"], or choose the transport .urlSession.

            """
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }()
}
#endif

#if !ServerStack
/// A transport that fails every request, for an engine that was chosen by name but isn't included in this build.
private struct MissingTransport: Transport {
    struct NoExchange: Exchange {
        func cancel() {}
    }

    var windowLength: Int64? { nil }
    var decodesContent: Bool { false }

    func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
        handler.exchangeEnded(.failed(DownloadError(.unsupported, "AsyncHTTPClient requires the trait ServerStack")))
        return NoExchange()
    }

    func shutdown() async {}
}
#endif
