public import Foundation

#if ServerStack
internal import NIOSSL
#endif

/// A certificate and its private key, with which a client proves its identity to a server (mutual TLS).
///
/// ```swift
/// configuration.clientIdentity = try ClientIdentity(certificateFile: certificateFile, keyFile: keyFile)
/// ```
///
/// Like a secret header, the identity is presented only to the origin of a request's URL, not after a redirect to
/// another origin, and never to a proxy. The server's certificate has to be trusted first, but its name is compared
/// after the handshake, in which the client's certificate is sent.
///
/// Only ``Downloader/TransportChoice/nio`` supports client identities.
public struct ClientIdentity: Sendable, Hashable {
    #if ServerStack
    /// The client's certificate, followed by the intermediate certificates.
    private let certificates: [NIOSSLCertificate]
    private let key: NIOSSLPrivateKey
    #endif

    /// Creates an identity from texts in PEM format (RFC 7468); both may be the same text.
    ///
    /// - Parameters:
    ///   - certificates: The client's certificate, followed by the intermediate certificates up to a root that the
    ///     server trusts.
    ///   - key: The private key of the first certificate.
    ///   - password: The password of an encrypted key, in ASCII; nil if the key isn't encrypted.
    /// - Throws: ``DownloadError/Code/clientIdentityUnusable`` if a text contains no certificate or key, or an invalid
    ///   one, if the password is wrong, or if the key doesn't belong to the certificate; and
    ///   ``DownloadError/Code/unsupported`` without the trait `ServerStack`.
    public init(certificates: Data, key: Data, password: String? = nil) throws(DownloadError) {
        #if ServerStack
        self.certificates = try certificates.certificates(orThrow: .clientIdentityUnusable)
        // NIOSSL terminates the process if the password contains a byte that isn't ASCII.
        guard password?.utf8.allSatisfy({ $0 < 0x80 }) ?? true else {
            throw DownloadError(.clientIdentityUnusable, "the password of the key isn't ASCII")
        }
        do {
            // Without a password, the library would ask for one on the terminal.
            let password = password ?? ""
            self.key = try NIOSSLPrivateKey(bytes: Array(key), format: .pem) { use in use(Array(password.utf8)) }
        } catch {
            throw DownloadError(
                .clientIdentityUnusable, "not a private key in PEM format, or the password is wrong",
                underlyingError: error)
        }
        do {
            var configuration = TLSConfiguration.makeClientConfiguration()
            // Empty roots replace the system's roots, which take time to read.
            configuration.trustRoots = .certificates([])
            add(to: &configuration)
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw DownloadError(
                .clientIdentityUnusable, "the key isn't that of the first certificate", underlyingError: error)
        }
        #else
        throw DownloadError(.unsupported, "client identities require the trait ServerStack")
        #endif
    }

    /// Creates an identity from files in PEM format (RFC 7468).
    ///
    /// - Parameters:
    ///   - certificateFile: The file of the certificates.
    ///   - keyFile: The file of the private key; nil if the file of the certificates contains the key.
    ///   - password: The password of an encrypted key; nil if the key isn't encrypted.
    /// - Throws: ``DownloadError/Code/clientIdentityUnusable`` if a file can't be read or its contents can't be used,
    ///   and ``DownloadError/Code/unsupported`` without the trait `ServerStack`.
    public init(certificateFile: URL, keyFile: URL? = nil, password: String? = nil) throws(DownloadError) {
        let certificates = try Data(credentials: certificateFile, orThrow: .clientIdentityUnusable)
        let key = try keyFile.map { file throws(DownloadError) in
            try Data(credentials: file, orThrow: .clientIdentityUnusable)
        }
        try self.init(certificates: certificates, key: key ?? certificates, password: password)
    }

    #if ServerStack
    /// Configures connections to present the identity.
    func add(to configuration: inout TLSConfiguration) {
        configuration.certificateChain = certificates.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
    }
    #endif
}

extension ClientIdentity: CustomStringConvertible, CustomReflectable {
    /// The name of the type; never the key.
    public var description: String { "ClientIdentity" }

    /// A mirror without children, because the key is a secret.
    public var customMirror: Mirror { .opaque(self) }
}
