internal import struct Foundation.Data

/// The SHA-256 hash of a public key, which identifies the key of a server's certificate.
///
/// The hash is computed over the key with its algorithm, in the form SubjectPublicKeyInfo (RFC 5280, 4.1.2.7), as in
/// HTTP public key pinning (RFC 7469, 2.4) and in curl. These commands print it for a certificate in the file
/// `server.pem`:
///
///     openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der \
///         | openssl dgst -sha256 -binary | base64
///
/// ```swift
/// if let key = PublicKeyHash("sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=") {
///     configuration.pinnedPublicKeys["example.com"] = [key]
/// }
/// ```
public struct PublicKeyHash: Sendable, Hashable, LosslessStringConvertible {
    /// The number of bytes of a SHA-256 digest.
    private static let length = 32
    private static let prefix = "sha256//"

    private let digest: Data

    /// Creates a hash from its text: 32 bytes in Base64 (RFC 4648, 4), optionally after the prefix `sha256//`; `nil`
    /// for any other text.
    public init?(_ description: String) {
        let text = description.hasPrefix(Self.prefix) ? String(description.dropFirst(Self.prefix.count)) : description
        guard let digest = Data(base64Encoded: text), digest.count == Self.length else { return nil }
        self.digest = digest
    }

    /// Creates a hash from the bytes of a SHA-256 digest.
    init(_ digest: some Sequence<UInt8>) { self.digest = Data(digest) }

    /// The hash as text, in the form `sha256//` and Base64.
    public var description: String { Self.prefix + digest.base64EncodedString() }
}
