#if canImport(Darwin)
public import Foundation
#endif

/// A connection challenge of URLSession: whether to trust a server, or which client certificate to present.
///
/// <!-- snippet: ios
/// @Sendable func isKnown(_ challenge: URLAuthenticationChallenge) async -> Bool { true }
/// -->
/// ```swift
/// configuration.challenge = { challenge in
///     guard challenge.kind == .serverTrust, challenge.host == "mirror.internal" else { return .performDefaultHandling }
///     return await isKnown(challenge.systemChallenge) ? .performDefaultHandling : .cancel
/// }
/// ```
public struct ConnectionChallenge: Sendable {
    /// The kind of a challenge.
    public struct Kind: Sendable, Hashable {
        private let name: String

        /// The server presented a certificate, and its trust is to be evaluated.
        public static let serverTrust = Self(name: "serverTrust")
        /// The server requests a client certificate.
        public static let clientCertificate = Self(name: "clientCertificate")
    }

    /// The answer to a challenge.
    public struct Answer: Sendable {
        enum Kind: Sendable { case performDefaultHandling, cancel, use }

        let kind: Kind

        /// The system decides, as it does without ``Downloader/Configuration/challenge``.
        public static let performDefaultHandling = Self(.performDefaultHandling)
        /// The connection ends, and the download fails with ``DownloadError/Code/secureConnectionFailed``.
        public static let cancel = Self(.cancel)

        #if canImport(Darwin)
        let credential: URLCredential?

        private init(_ kind: Kind, _ credential: URLCredential? = nil) {
            (self.kind, self.credential) = (kind, credential)
        }

        /// The connection uses the credential, which was created from the trust of the server or the identity of the
        /// client.
        public static func use(_ credential: URLCredential) -> Self { Self(.use, credential) }
        #else
        private init(_ kind: Kind) {
            self.kind = kind
        }
        #endif
    }

    /// The kind of the challenge.
    public let kind: Kind
    /// The name or the address of the server.
    public let host: String
    /// The port of the server.
    public let port: Int

    #if canImport(Darwin)
    /// The challenge of the system, with the trust object of the server, or the authorities that the server accepts.
    public nonisolated(unsafe) let systemChallenge: URLAuthenticationChallenge
    #endif
}
