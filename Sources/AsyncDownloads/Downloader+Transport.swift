extension Downloader.TransportChoice {
    /// The engine: the one place where adapters are named.
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
/// Stands where an engine was asked for by name that this build does not carry.
private struct MissingTransport: Transport {
    struct NoExchange: Exchange {
        func cancel() {}
    }

    var windowLength: Int64? { nil }
    var decodesContent: Bool { false }

    func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
        handler.exchangeEnded(.failed(DownloadError(.unsupported, "AsyncHTTPClient needs the trait ServerStack")))
        return NoExchange()
    }

    func shutdown() async {}
}
#endif
