#if !canImport(Darwin) && !ServerStack
internal import Foundation
#endif

extension Downloader.Configuration {
    /// Creates the transport for the chosen engine; the adapters are named only here.
    func makeTransport() -> any Transport {
        switch transport.kind {
        case .urlSession:
            #if !canImport(Darwin) && !ServerStack
            if transport.isAutomatic { MissingTraitWarning.writeOnce }
            #endif
            #if canImport(Darwin) || LinuxURLSession || !ServerStack
            return URLSessionTransport(maximumConnectionsPerHost: largestTransferCountPerHost, challenge: challenge)
            #else
            return MissingTransport(name: "URLSession", trait: "LinuxURLSession")
            #endif
        case .httpClient:
            #if ServerStack
            return HTTPClientTransport(
                maximumConnectionsPerHost: largestTransferCountPerHost, additionalTrustRoots: additionalTrustRoots)
            #else
            return MissingTransport(name: "AsyncHTTPClient", trait: "ServerStack")
            #endif
        case .nio:
            #if ServerStack
            return NIOTransport(
                security: SecuritySettings(
                    additionalTrustRoots: additionalTrustRoots, clientIdentity: clientIdentity,
                    pinnedPublicKeys: pinnedPublicKeys),
                proxy: proxy, addressFamily: addressFamily)
            #else
            return MissingTransport(name: "SwiftNIO", trait: "ServerStack")
            #endif
        }
    }

    /// The error with which every request fails because the engine doesn't support the configuration; nil if it does.
    ///
    /// On Apple platforms, URLSession would need a delegate that evaluates the server's trust; on Linux, it accepts no
    /// certificates. A background session runs while no delegate can be called.
    var validationError: DownloadError? {
        let isInBackground = backgroundSession != nil
        if additionalTrustRoots != nil, isInBackground || transport.kind == .urlSession {
            return DownloadError(.unsupported, "additional trust roots require the transport .nio or .httpClient")
        }
        if challenge != nil, isInBackground || transport.kind != .urlSession || !answersChallenges {
            return DownloadError(.unsupported, "challenges require the transport .urlSession on an Apple platform")
        }
        if isInBackground || transport.kind != .nio {
            if clientIdentity != nil { return Self.requiresNIO("a client identity") }
            if !pinnedPublicKeys.isEmpty { return Self.requiresNIO("pinned public keys") }
            if addressFamily != .any { return Self.requiresNIO("an address family") }
            if proxy != .environment { return Self.requiresNIO("a proxy") }
        }
        #if ServerStack
        if pinnedPublicKeys.keys.contains(where: { ServerName(written: $0) == nil }) {
            return DownloadError(.invalidRequest, "a host of the pinned public keys is neither a name nor an address")
        }
        #endif
        return nil
    }

    /// Whether URLSession asks its delegate about challenges.
    private var answersChallenges: Bool {
        #if canImport(Darwin) || LinuxURLSession || !ServerStack
        URLSessionTransport.answersChallenges
        #else
        false
        #endif
    }

    private static func requiresNIO(_ setting: String) -> DownloadError {
        DownloadError(.unsupported, "\(setting) in the configuration requires the transport .nio")
    }
}

extension Downloader.TransportChoice {
    static var automaticKind: Kind {
        #if ServerStack && !canImport(Darwin)
        .nio
        #else
        .urlSession
        #endif
    }
}

#if !canImport(Darwin) && !ServerStack
/// The warning that a server was built without the trait that it needs, usually because the host that resolved the
/// package does not enable it by default.
private enum MissingTraitWarning {
    /// Writes the warning to standard error at the first use in a process; without the trait, no log is available.
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

#if !ServerStack || !(canImport(Darwin) || LinuxURLSession)
/// A transport that fails every request, for an engine that was chosen by name but isn't included in this build.
private struct MissingTransport: Transport {
    /// The name of the engine.
    let name: String
    /// The trait that includes the engine.
    let trait: String

    var windowLength: Int64? { nil }
    var decodesContent: Bool { false }

    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        handler.exchangeEnded(.failed(DownloadError(.unsupported, "\(name) requires the trait \(trait)")))
        return FailedExchange()
    }

    func shutdown() async {}
}
#endif
