/// The properties that are equal for requests of the same resource by the same user, apart from secrets (rule 51).
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

    /// Creates the key of a resource.
    ///
    /// - Parameters:
    ///   - url: The URL in normal form; it is ignored if `identity` isn't nil.
    ///   - identity: The caller's identity of the resource, if any.
    ///   - headers: The nonsecret headers sorted by name, as name and value pairs.
    ///   - account: The caller's name for the user whose credentials are sent, if any.
    init(url: String, identity: String?, headers: some Sequence<[String]>, account: String?) {
        // A URL cannot contain a space, so an identity is never confused with a URL.
        resource = ByteText(identity.map { "named \($0)" } ?? url)
        self.headers = headers.map { pair in
            pair.prefix(1).map { ByteText($0.asciiLowercased()) } + pair.dropFirst().map(ByteText.init)
        }
        self.account = account.map(ByteText.init)
    }

    /// The texts of the key in a fixed order; different keys have different sequences.
    var texts: [String] {
        [resource.text, account == nil ? "" : "account", account?.text ?? ""] + headers.joined().map(\.text)
    }
}

/// The key of requests that may share one transfer and its bytes: the resource and the user's secret headers.
struct SharingKey: Sendable, Hashable {
    let resource: ResourceKey
    /// The secret headers, sorted by name; empty if an account identifies the user.
    private let secretHeaders: HeaderFields

    init(_ resource: ResourceKey, secretHeaders: HeaderFields) {
        self.resource = resource
        self.secretHeaders = resource.account == nil ? secretHeaders : [:]
    }
}

/// A digest by which later processes recognize the resource that a file contains.
///
/// The digest covers the URL in normal form or the identity, the nonsecret headers, and the account. It consists of the
/// first 12 bytes of a SHA-256 digest, so that constructing a URL that is mistaken for a given one isn't feasible.
struct ResourceDigest: Sendable, Hashable {
    static let byteCount = 12

    let bytes: [UInt8]

    /// Creates the digest of a request's resource.
    ///
    /// The result is nil if the user of the bytes isn't recorded, because the request has secret headers but no
    /// account, or if this build can't compute digests.
    init?(_ request: RequestRecord) {
        guard !request.hasSecretHeaders || request.account != nil else { return nil }
        var text: [UInt8] = []
        func add(_ word: String) {
            text += word.utf8
            // UTF-8 text never contains this byte, so a different division of the same characters has another digest.
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
