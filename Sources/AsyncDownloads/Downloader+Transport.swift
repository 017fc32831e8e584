extension Downloader.TransportChoice {
    /// Creates the transport for the chosen engine; the adapters are named only here.
    func makeTransport(maximumConnectionsPerHost: Int) -> any Transport {
        switch kind {
        case .urlSession:
            return URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
        case .httpClient, .automatic:
            #if canImport(Darwin)
            if kind == .automatic { return URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost) }
            #endif
            #if ServerStack
            return HTTPClientTransport(maximumConnectionsPerHost: maximumConnectionsPerHost)
            #else
            return kind == .automatic
                ? URLSessionTransport(maximumConnectionsPerHost: maximumConnectionsPerHost) : MissingTransport()
            #endif
        }
    }
}

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
