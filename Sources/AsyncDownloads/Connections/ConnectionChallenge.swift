#if canImport(Darwin)
public import Foundation
#endif

/// A challenge of a connection by URLSession: whether a server is trusted, or which certificate the client presents.
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

        /// The server has presented a certificate, and is to be trusted or not.
        public static let serverTrust = Self(name: "serverTrust")
        /// The server requests a certificate of the client.
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

        /// The credential is used: the trust of the server that it was created with, or the identity of the client.
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
