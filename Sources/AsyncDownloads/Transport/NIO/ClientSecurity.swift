#if ServerStack
internal import NIOCore
internal import NIOSSL

/// The TLS settings of a transport's connections.
final class ClientSecurity: Sendable {
    private let configuration: TLSConfiguration
    private let cached = Mutex<NIOSSLContext?>(nil)

    init(additionalTrustRoots: TrustRoots?) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // RFC 8996 deprecates TLS 1.0 and 1.1.
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        if let additionalTrustRoots {
            configuration.additionalTrustRoots = [.certificates(additionalTrustRoots.certificates)]
        }
        // A server that is still sending doesn't answer a closing alert, so NIO would keep reading for up to five seconds.
        configuration.shutdownTimeout = .zero
        self.configuration = configuration
    }

    /// Returns the context that all connections share.
    ///
    /// The first call takes milliseconds, because it reads the certificates of the system.
    func context() throws -> NIOSSLContext {
        try cached.withLock { cached in
            if let cached { return cached }
            let context = try NIOSSLContext(configuration: configuration)
            cached = context
            return context
        }
    }
}
#endif
