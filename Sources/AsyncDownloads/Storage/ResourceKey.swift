/// The properties by which two requests are for the same resource as the same user, apart from secrets (rule 51).
///
/// Texts are compared by their bytes, because a server distinguishes them; the names of headers are compared without
/// regard to ASCII case (RFC 9110, 5.1).
struct ResourceKey: Sendable, Hashable {
    /// The caller's identity of the resource, or its URL in normal form.
    private let resource: ByteText
    /// The nonsecret headers, each as a name in lowercase and a value.
    private let headers: [[ByteText]]
    /// The caller's name for the user whose credentials are sent.
    let account: ByteText?

    /// - Parameters:
    ///   - url: The URL in normal form; it does not count if there is an identity.
    ///   - headers: The nonsecret headers in the order of their names, as name and value pairs.
    init(url: String, identity: String?, headers: some Sequence<[String]>, account: String?) {
        // A URL cannot contain a space, so an identity is never confused with a URL.
        resource = ByteText(identity.map { "named \($0)" } ?? url)
        self.headers = headers.map { pair in
            pair.prefix(1).map { ByteText($0.asciiLowercased()) } + pair.dropFirst().map(ByteText.init)
        }
        self.account = account.map(ByteText.init)
    }

    /// All texts of the key in an order from which it can be determined.
    var texts: [String] {
        [resource.text, account == nil ? "" : "account", account?.text ?? ""] + headers.joined().map(\.text)
    }
}

/// The key of requests that may share one transfer and its bytes: the resource, and the user's secrets.
struct SharingKey: Sendable, Hashable {
    let resource: ResourceKey
    /// The secret headers, in the order of their names; empty if an account identifies the user.
    private let secretHeaders: HeaderFields

    init(_ resource: ResourceKey, secretHeaders: HeaderFields) {
        self.resource = resource
        self.secretHeaders = resource.account == nil ? secretHeaders : [:]
    }
}

/// A digest by which later processes recognize the resource that a file contains.
///
/// It stands for the URL in normal form or the identity, the nonsecret headers, and the account: the first 12 bytes of a
/// SHA-256 digest, so that no one can choose a URL that is mistaken for another one.
struct ResourceDigest: Sendable, Hashable {
    static let byteCount = 12

    let bytes: [UInt8]

    /// Creates the digest of a request's resource.
    ///
    /// The result is nil if nothing recorded says whose the bytes are, because the request has secret headers and no
    /// account, or if this build computes no digests.
    init?(_ request: RequestRecord) {
        guard !request.hasSecretHeaders || request.account != nil else { return nil }
        var text: [UInt8] = []
        func add(_ word: String) {
            text += word.utf8
            // No text contains this byte, so adjacent words cannot be confused with others of the same concatenation.
            text.append(0xFF)
        }
        for word in request.key.texts { add(word) }
        guard let digest = RunningDigest.sha256(of: text) else { return nil }
        bytes = Array(digest.prefix(Self.byteCount))
    }

    /// Creates the digest with exactly these bytes.
    init(bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }
}
