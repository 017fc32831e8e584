public import Foundation

#if ServerStack
internal import NIOSSL
#endif

/// Root certificates that a downloader trusts in addition to the system's roots.
///
/// ```swift
/// var configuration = Downloader.Configuration()
/// configuration.transport = .nio
/// configuration.additionalTrustRoots = try TrustRoots(pemFile: certificateFile)
/// let downloader = Downloader(configuration: configuration)
/// ```
///
/// Use trust roots for servers of a private certification authority, or for a server with a self-signed certificate.
/// Host names and validity periods are checked as usual. The certificates are read once, when the value is created.
///
/// On Linux, the file that the environment variable `SSL_CERT_FILE` names also contains roots of the system. If it is
/// missing or unusable, no secure connection is made.
///
/// Only ``Downloader/TransportChoice/httpClient`` and ``Downloader/TransportChoice/nio`` support additional trust
/// roots.
public struct TrustRoots: Sendable, Hashable {
    #if ServerStack
    /// The certificates, at least one.
    let certificates: [NIOSSLCertificate]
    #endif

    /// Creates trust roots from the certificates in a text in PEM format (RFC 7468); other kinds of blocks are ignored.
    ///
    /// - Throws: ``DownloadError/Code/trustRootsUnusable`` if the text contains no certificate or an invalid one, and
    ///   ``DownloadError/Code/unsupported`` without the trait `ServerStack`.
    public init(pem: Data) throws(DownloadError) {
        #if ServerStack
        certificates = try pem.certificates(orThrow: .trustRootsUnusable)
        #else
        throw DownloadError(.unsupported, "additional trust roots require the trait ServerStack")
        #endif
    }

    /// Creates trust roots from the certificates in a file in PEM format (RFC 7468).
    ///
    /// - Throws: ``DownloadError/Code/trustRootsUnusable`` if the file can't be read, or contains no certificate or an
    ///   invalid one, and ``DownloadError/Code/unsupported`` without the trait `ServerStack`.
    public init(pemFile file: URL) throws(DownloadError) {
        try self.init(pem: Data(credentials: file, orThrow: .trustRootsUnusable))
    }
}

#if ServerStack
extension TLSConfiguration {
    /// Trusts the system's roots, on Linux including those of `SSL_CERT_FILE`, and the additional ones.
    mutating func trust(_ additional: TrustRoots?) {
        #if !canImport(Darwin)
        let file = ProcessInfo.processInfo.environment["SSL_CERT_FILE"] ?? ""
        if !file.isEmpty { additionalTrustRoots.append(.file(file)) }
        #endif
        if let additional { additionalTrustRoots.append(.certificates(additional.certificates)) }
    }
}
#endif
