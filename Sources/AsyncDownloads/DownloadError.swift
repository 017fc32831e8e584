public import struct Foundation.URL

/// An error that says why a download didn't deliver its file.
///
/// The ``code-swift.property`` identifies the kind of error. The ``description`` describes the error in one line that
/// is fit for a log: it never contains the credentials, the query, or the fragment of the URL. The error also says how
/// many bytes were kept, and whether it is worthwhile to repeat the request.
public struct DownloadError: Error, Sendable {
    /// The kind of the error.
    public var code: Code

    /// Details beyond the code, in words; never a secret, and never the text of a response body.
    public var detail: String

    /// The URL of the request, as the caller specified it.
    public var url: URL?

    /// The HTTP status code, if the server's response is the reason for the error.
    public var statusCode: Int?

    /// The error that the engine or the system reported, without URLs.
    public var underlyingError: (any Error)?

    /// A Boolean value that indicates whether the same request may succeed later without a change.
    ///
    /// When a retryable error reaches the caller, the retry policy has been exhausted.
    public var isRetryable: Bool

    /// The number of bytes that are kept on disk for the next request for the same resource.
    public var retainedByteCount: Int64

    /// The delay that the server requested with Retry-After, if any (RFC 9110, 10.2.3).
    package var retryAfter: Duration?

    /// Creates an error, which is retryable if its code is transient unless specified otherwise.
    package init(
        _ code: Code, _ detail: String = "", url: URL? = nil, statusCode: Int? = nil,
        underlyingError: (any Error)? = nil, isRetryable: Bool? = nil, retainedByteCount: Int64 = 0,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.detail = detail
        self.url = url
        self.statusCode = statusCode
        self.underlyingError = withoutURLs(underlyingError)
        self.isRetryable = isRetryable ?? code.isTransient
        self.retainedByteCount = retainedByteCount
        self.retryAfter = retryAfter
    }
}

extension DownloadError: CustomStringConvertible {
    /// A line with the code, the detail, the redacted URL, and the number of bytes kept.
    public var description: String {
        var line = code.name
        if let statusCode { line += " (\(statusCode))" }
        if !detail.isEmpty { line += ": \(detail)" }
        if let url { line += " [\(url.redacted)]" }
        if retainedByteCount > 0 { line += "; \(retainedByteCount) bytes kept" }
        return line
    }
}

extension DownloadError: CustomReflectable {
    /// A mirror without children, because the URL may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
