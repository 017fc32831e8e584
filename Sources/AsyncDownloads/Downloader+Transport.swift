#if !canImport(Darwin) && !ServerStack
internal import Foundation
#endif

extension Downloader.Configuration {
    /// Creates the transport for the chosen engine; the adapters are named only here.
    func makeTransport() -> any Transport {
        let maximumConnectionsPerHost = largestTransferCountPerHost
        switch transport.kind {
        case .urlSession:
            return URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
        case .httpClient:
            #if ServerStack
            return HTTPClientTransport(
                maximumConnectionsPerHost: maximumConnectionsPerHost, additionalTrustRoots: additionalTrustRoots)
            #else
            return MissingTransport(name: "AsyncHTTPClient")
            #endif
        case .nio:
            #if ServerStack
            return NIOTransport(additionalTrustRoots: additionalTrustRoots)
            #else
            return MissingTransport(name: "SwiftNIO")
            #endif
        case .automatic:
            #if canImport(Darwin)
            return URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
            #elseif ServerStack
            return HTTPClientTransport(
                maximumConnectionsPerHost: maximumConnectionsPerHost, additionalTrustRoots: additionalTrustRoots)
            #else
            MissingTraitWarning.writeOnce
            return URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
            #endif
        }
    }

    /// The error with which every request fails, because the engine can't do what the configuration requires.
    ///
    /// URLSession would need a delegate that evaluates the server's trust on Apple platforms, and cannot be given
    /// certificates on Linux. A background session continues while no delegate can be asked.
    var validationError: DownloadError? {
        guard additionalTrustRoots != nil, backgroundSession != nil || !acceptsTrustRoots else { return nil }
        return DownloadError(.unsupported, "additional trust roots require the transport .httpClient or .nio")
    }

    private var acceptsTrustRoots: Bool {
        switch transport.kind {
        case .httpClient, .nio: return true
        case .urlSession: return false
        case .automatic:
            #if ServerStack && !canImport(Darwin)
            return true
            #else
            return false
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

    /// The name of the engine.
    let name: String

    var windowLength: Int64? { nil }
    var decodesContent: Bool { false }

    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        handler.exchangeEnded(.failed(DownloadError(.unsupported, "\(name) requires the trait ServerStack")))
        return NoExchange()
    }

    func shutdown() async {}
}
#endif
