/// A digest by which later processes recognize the resource that a file contains.
///
/// It stands for the URL in normal form or the identity, the public headers, and the account: the first 12 bytes of a
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
