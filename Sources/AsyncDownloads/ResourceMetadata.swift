public import struct Foundation.URL

/// The metadata of a resource, as its server states it.
///
/// ```swift
/// let metadata = try await downloader.metadata(for: url)
/// print(metadata.byteCount.map { $0.formatted(.byteCount(style: .file)) } ?? "unknown size")
/// ```
public struct ResourceMetadata: Sendable, Hashable {
    /// The length of the file in bytes, or `nil` if the server doesn't state it.
    public var byteCount: Int64?

    /// The file name that the server suggests (RFC 6266), sanitized.
    public var suggestedName: String?

    /// The media type, exactly as the server sent it.
    public var contentType: String?

    /// The entity tag, exactly as the server sent it (RFC 9110, 8.8.3), or `nil` if it isn't strong.
    public var entityTag: String?

    /// The value of Last-Modified, exactly as the server sent it.
    public var lastModified: String?

    /// A Boolean value that indicates whether a download of the resource could continue after an interruption.
    ///
    /// This requires a strong validator and a body without a content coding. A server may still ignore ranges.
    public var isResumable: Bool

    /// A Boolean value that indicates whether the server supports range requests, or `nil` if it doesn't state this
    /// (RFC 9110, 14.3).
    public var acceptsRanges: Bool?

    /// The URL that the response came from, after redirects.
    public var finalURL: URL

    /// Creates a value, for tests of code that receives one.
    public init(
        byteCount: Int64? = nil, suggestedName: String? = nil, contentType: String? = nil, entityTag: String? = nil,
        lastModified: String? = nil, isResumable: Bool = false, acceptsRanges: Bool? = nil, finalURL: URL
    ) {
        self.byteCount = byteCount
        self.suggestedName = suggestedName
        self.contentType = contentType
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.isResumable = isResumable
        self.acceptsRanges = acceptsRanges
        self.finalURL = finalURL
    }
}

extension ResourceMetadata {
    /// Creates the metadata that a head contains.
    ///
    /// - Parameters:
    ///   - date: The time when the response arrived.
    ///   - decodesContent: Whether the engine decodes content codings, so that the length of a coded body isn't stated.
    init(_ head: ResponseHead, at date: HTTPDate, decodesContent: Bool) {
        let isCoded = ContentCoding(head.headers) != nil
        let validator = Validator.strong(in: head.headers, receivedAt: date)
        self.init(
            suggestedName: ContentDisposition(head.headers)?.suggestedFileName.flatMap(FileName.sanitized),
            contentType: head.headers.singleton("Content-Type").value,
            lastModified: head.headers.singleton("Last-Modified").value,
            isResumable: validator != nil && !isCoded, finalURL: head.url)
        if case .entityTag(let tag)? = validator { entityTag = tag.rawValue }
        if head.statusCode == 206 {
            if case .satisfied(_, let length)? = ContentRange(head.headers) { byteCount = length }
            acceptsRanges = true
        } else {
            byteCount = isCoded && decodesContent ? nil : head.contentLength
            let units = head.headers.tokens(for: "Accept-Ranges").map { $0.asciiLowercased() }
            acceptsRanges = units.isEmpty ? nil : units.contains("bytes")
        }
    }
}

extension ResourceMetadata: CustomStringConvertible {
    /// A description that is fit for a log: the length, the media type, and the final URL without secrets.
    public var description: String {
        let length = byteCount.map { "\($0) bytes" } ?? "unknown length"
        return "\(length), \(MediaType(contentType)?.description ?? "unknown type"), from \(finalURL.redacted)"
    }
}

extension ResourceMetadata: CustomReflectable {
    /// A mirror without children, because the URL may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
