/// What the server said of the object whose bytes a partial file holds (RFC 9110, 3.2 and 8).
///
/// Bytes of two representations are never mixed: a new one begins a new partial file. Where the caller's policy lets
/// bytes under two validators count as one representation, that is noted.
package struct Representation: Sendable, Hashable {
    /// Where the bytes came from after redirects; may carry a signature, so it is never logged.
    package var finalURL: String
    /// The strong validator, without which the bytes cannot be continued.
    package var validator: Validator?
    /// The complete length in bytes, where the server told it.
    package var length: Int64?
    /// The content coding that the bytes are in, where it is not identity: such bytes are never continued.
    package var contentCoding: String?
    /// The media type as received.
    package var contentType: String?
    /// The file name of Content-Disposition, sanitised.
    package var suggestedName: String?
    /// Last-Modified as received.
    package var lastModified: String?
    /// The digests that the server vouches for (RFC 9530), where it named any.
    package var digests: [Checksum]?
    /// The first byte that came under another validator: from there on the expected digest alone proves the bytes.
    package var unverifiedFrom: Int64?
    /// Whether the bytes came from another URL than the request's, whose server has not proven yet to have this object.
    package var cameFromDifferentURL = false
    /// Whether the bytes were received by something else than this package, and no server has confirmed them yet.
    package var isImported = false
    /// Whether the bytes may have been received with other credentials than those of the present request.
    ///
    /// Found out when a partial is opened, and not recorded.
    package var hasUnverifiedCredentials = false

    package init(
        finalURL: String, validator: Validator? = nil, length: Int64? = nil, contentCoding: String? = nil,
        contentType: String? = nil, suggestedName: String? = nil, lastModified: String? = nil,
        digests: [Checksum]? = nil
    ) {
        self.finalURL = finalURL
        self.validator = validator
        self.length = length
        self.contentCoding = contentCoding
        self.contentType = contentType
        self.suggestedName = suggestedName
        self.lastModified = lastModified
        self.digests = digests
    }
}
