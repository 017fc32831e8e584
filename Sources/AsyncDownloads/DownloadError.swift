public import struct Foundation.URL

/// Why a download did not deliver its file.
///
/// The ``code-swift.property`` says what happened in a form to switch on, and ``description`` says it in a line fit for a
/// log: credentials, query and fragment of the URL never appear in it. Whether bytes were kept, and whether asking
/// again is worth while, is part of the error.
public struct DownloadError: Error, Sendable {
    /// What happened.
    public var code: Code

    /// What is known beyond the code, in words: never a secret, never the text of a response body.
    public var detail: String

    /// The URL that was asked for, as the caller gave it.
    public var url: URL?

    /// The HTTP status, where the server's answer is the reason.
    public var statusCode: Int?

    /// What the engine or the system reported, without URLs.
    public var underlyingError: (any Error)?

    /// Whether the same request may succeed later without being changed.
    ///
    /// The retry policy has been exhausted when a retryable error reaches a caller.
    public var isRetryable: Bool

    /// How many bytes are kept on disk for the next request of the same resource.
    public var retainedByteCount: Int64

    /// The server's Retry-After, where it sent one (RFC 9110, 10.2.3).
    package var retryAfter: Duration?

    /// Creates an error; retryability follows from the code unless given.
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
    /// One line: the code, the detail, the redacted URL, and what was kept.
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
    /// A mirror without children, since the URL may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
