public import Foundation

/// A finished download.
public struct DownloadedFile: Sendable, Hashable {
    /// Where the file is; for a download into memory, the URL that answered.
    public var url: URL

    /// The bytes of a download into memory; nil for one into a file.
    public var data: Data?

    /// Its length in bytes.
    public var byteCount: Int64

    /// Body bytes that crossed the network for it in this process, those of repeated attempts included.
    public var fetchedByteCount: Int64

    /// The URL that answered, after redirects.
    public var finalURL: URL

    /// The media type as the server gave it.
    public var contentType: String?

    /// The entity tag as the server gave it (RFC 9110, 8.8.3), when it was a strong one.
    public var entityTag: String?

    /// Last-Modified as the server gave it.
    public var lastModified: String?

    /// The file name that the server suggested (RFC 6266), made harmless.
    public var suggestedName: String?

    /// Creates a value, for tests of code that receives one.
    public init(
        url: URL, byteCount: Int64, fetchedByteCount: Int64, finalURL: URL, contentType: String? = nil,
        entityTag: String? = nil, lastModified: String? = nil, suggestedName: String? = nil,
        data: Data? = nil
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
    }
}

extension DownloadedFile: CustomStringConvertible {
    /// The path if there is one, the length, and the URL that answered without what may be secret in it: fit for a log.
    public var description: String {
        "\(data == nil ? url.path : "memory"), \(byteCount) bytes from \(finalURL.redacted)"
    }
}

extension DownloadedFile: CustomReflectable {
    /// A mirror without children, since the URL and the bytes may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
