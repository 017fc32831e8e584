public import Foundation

/// The result of a finished download.
public struct DownloadedFile: Sendable, Hashable {
    /// The URL of the file; for a download into memory, the URL that the response came from.
    public var url: URL

    /// The bytes of a download into memory, or `nil` for a download to a file.
    public var data: Data?

    /// The length of the file in bytes.
    public var byteCount: Int64

    /// The number of body bytes that crossed the network for the file in this process, including repeated attempts.
    public var fetchedByteCount: Int64

    /// A Boolean value that indicates whether an existing file at the destination was reused, so that no body was
    /// received.
    ///
    /// For a reused file, the properties that come from a response have the values that were recorded when the file was
    /// downloaded, or `nil` if nothing was recorded, and ``finalURL`` is the URL of the request.
    public var isReused = false

    /// The URL that the response came from, after redirects.
    public var finalURL: URL

    /// The media type, exactly as the server sent it.
    public var contentType: String?

    /// The entity tag, exactly as the server sent it (RFC 9110, 8.8.3), or `nil` if it isn't strong.
    public var entityTag: String?

    /// The value of Last-Modified, exactly as the server sent it.
    public var lastModified: String?

    /// The file name that the server suggested (RFC 6266), sanitized.
    public var suggestedName: String?

    /// The heads of the redirects, in order, followed by the head of the response with the first bytes in this process.
    ///
    /// The list is empty if no byte was received in this process, for example because ``isReused`` is true, and for a
    /// download in a background session.
    public var responses: [ResponseHead] = []

    /// Creates a value, for tests of code that receives one.
    public init(
        url: URL, byteCount: Int64, fetchedByteCount: Int64, finalURL: URL, contentType: String? = nil,
        entityTag: String? = nil, lastModified: String? = nil, suggestedName: String? = nil,
        data: Data? = nil, isReused: Bool = false, responses: [ResponseHead] = []
    ) {
        self.url = url
        self.byteCount = byteCount
        self.fetchedByteCount = fetchedByteCount
        self.finalURL = finalURL
        self.contentType = contentType
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.suggestedName = suggestedName
        self.data = data
        self.isReused = isReused
        self.responses = responses
    }
}

extension DownloadedFile: CustomStringConvertible {
    /// A description that is fit for a log: the path or `memory`, the length, and the final URL without secrets.
    public var description: String {
        "\(data == nil ? url.path : "memory"), \(byteCount) bytes from \(finalURL.redacted)"
    }
}

extension DownloadedFile: CustomReflectable {
    /// A mirror without children, because the URL and the bytes may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
