/// The metadata of the representation whose bytes a partial file contains (RFC 9110, 3.2 and 8).
///
/// Bytes of two representations are never combined: when the representation changes, the received bytes are discarded.
/// If the caller's policy permits bytes with different validators to count as one representation, ``unverifiedFrom``
/// records the position of the first byte with the second validator.
struct Representation: Sendable, Hashable {
    /// The URL that delivered the bytes, after redirects; it may contain a signature, so it is never logged.
    var finalURL: String
    /// The strong validator; without one, the download can't be resumed.
    var validator: Validator?
    /// The length of the complete representation in bytes, if the server has stated it.
    var length: Int64?
    /// The content coding of the bytes other than identity; bytes with a coding are never resumed.
    var contentCoding: String?
    /// The media type as received.
    var contentType: String?
    /// The sanitized file name that the `Content-Disposition` field suggests.
    var suggestedName: String?
    /// The value of the `Last-Modified` field as received.
    var lastModified: String?
    /// The digests that the server has stated for the whole representation, if any (RFC 9530).
    var digests: [Checksum]?
    /// The position of the first byte with another validator; from there on, only the expected digest proves the bytes.
    var unverifiedFrom: Int64?
    /// Whether the bytes came from a URL other than the request's, whose server has not confirmed the object yet.
    var cameFromDifferentURL = false
    /// Whether the bytes were received by something other than this package, and no server has confirmed them yet.
    var isImported = false
    /// Whether the bytes may have been received with credentials that differ from the present request's.
    ///
    /// The value is determined when a partial file is opened. It isn't recorded.
    var hasUnverifiedCredentials = false

    init(
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

/// A response with bytes of a resource, which the subscribers may accept or refuse before its body is used.
struct CandidateResponse: Sendable {
    /// The head, without secrets.
    var head: ResponseHead
    /// The representation that the body contains, completely or in part.
    var representation: Representation
    /// The media types of the received bytes, and of the files at the destinations, as recorded.
    var earlierTypes: [String?] = []

    /// The media type of the representation; a response without one counts as `application/octet-stream` (RFC 9110,
    /// 8.3).
    var mediaType: MediaType? { MediaType(representation.contentType ?? "application/octet-stream") }

    /// Returns whether two responses are certainly of the same representation.
    func isSame(as other: Self) -> Bool {
        guard let validator = representation.validator else { return false }
        return validator == other.representation.validator && mediaType == other.mediaType
    }
}
