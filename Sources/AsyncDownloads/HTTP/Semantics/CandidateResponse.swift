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
