public import struct Foundation.Data
public import struct Foundation.URL

/// An error that describes why a download didn't deliver its file.
///
/// The ``code-swift.property`` identifies the kind of error. The ``description`` is one line for a log: it never
/// contains the credentials, the query, or the fragment of the URL. ``retainedByteCount`` is the number of bytes that
/// were kept, and ``isRetryable`` indicates whether the same request may succeed later. The texts for an alert are
/// ``errorDescription`` and ``recoverySuggestion``:
///
/// ```swift
/// do {
///     let file = try await download.file
///     print(file.byteCount)
/// } catch let error where !error.isCancellation {
///     print(error.localizedDescription, error.recoverySuggestion ?? "")
/// }
/// ```
public struct DownloadError: Error, Sendable {
    /// The kind of the error.
    public var code: Code

    /// Details beyond the code, in words; never a secret, and never the text of a response body.
    public var detail: String

    /// The URL of the request, as the caller specified it.
    public var url: URL?

    /// The HTTP status code, if the server's response is the reason for the error.
    public var statusCode: Int?

    /// The head of the response that is the reason for the error; `nil` if the reason isn't a response.
    ///
    /// The value is always `nil` in a background session. It is never included in the ``description`` and never
    /// recorded on disk.
    public var response: ResponseHead?

    /// The first bytes of the body of ``response``, at most 16 KiB, or `nil` if none were received.
    ///
    /// Some services describe the reason for a refusal there. The bytes are exactly as the server sent them; they are
    /// never included in the ``description`` and never recorded on disk. If another attempt follows, the package waits
    /// only for a body with a stated length; after the last attempt, it waits for the bytes for up to five seconds.
    public var responseBody: Data?

    /// The error that the engine or the system reported, without URLs.
    public var underlyingError: (any Error)?

    /// A Boolean value that indicates whether the same request may succeed later without a change.
    ///
    /// When a retryable error reaches the caller, the retry policy has been exhausted.
    public var isRetryable: Bool

    /// A Boolean value that indicates whether this device has no network connection, or none that may be used.
    ///
    /// The value is `true` only if the system reports that the device's own connection is the reason; it is `false` if
    /// a host refuses the connection or can't be reached. Linux reports this reason for connections to addresses, but
    /// not if the name of a host can't be resolved.
    public var isOffline: Bool

    /// The number of bytes that are kept on disk for the next request for the same resource.
    public var retainedByteCount: Int64

    /// The delay that the server requested with Retry-After, if any (RFC 9110, 10.2.3).
    public var retryAfter: Duration?

    /// Creates an error.
    ///
    /// Use this initializer to test code that presents errors.
    ///
    /// - Parameters:
    ///   - code: The kind of the error.
    ///   - detail: Details beyond the code, without secrets.
    ///   - url: The URL of the request.
    ///   - statusCode: The HTTP status code; `nil` uses the status code of `response`.
    ///   - response: The head of the response that is the reason for the error.
    ///   - responseBody: The first bytes of its body.
    ///   - underlyingError: The error that is the reason for this one; URLs are removed from an error of URLSession.
    ///   - isRetryable: Whether the same request may succeed later; `nil` for the default of the code.
    ///   - isOffline: Whether this device has no network connection; `nil` to derive the value from the code and the
    ///     underlying error.
    ///   - retainedByteCount: The number of bytes that are kept on disk.
    ///   - retryAfter: The delay that the server requested.
    public init(
        _ code: Code, _ detail: String = "", url: URL? = nil, statusCode: Int? = nil, response: ResponseHead? = nil,
        responseBody: Data? = nil, underlyingError: (any Error)? = nil, isRetryable: Bool? = nil,
        isOffline: Bool? = nil, retainedByteCount: Int64 = 0, retryAfter: Duration? = nil
    ) {
        self.code = code
        self.detail = detail
        self.url = url
        self.statusCode = statusCode ?? response?.statusCode
        self.response = response
        self.responseBody = responseBody
        self.underlyingError = withoutURLs(underlyingError)
        self.isRetryable = isRetryable ?? code.isTransient
        self.isOffline =
            isOffline ?? (code == .networkNotPermitted || code == .notConnected || Self.meansOffline(underlyingError))
        self.retainedByteCount = retainedByteCount
        self.retryAfter = retryAfter
    }
}

extension DownloadError {
    /// A Boolean value that indicates whether the program itself ended the download, so that no alert is needed.
    ///
    /// The download was canceled (``Code/cancelled``), or a newer request has replaced it (``Code/superseded``).
    public var isCancellation: Bool { code == .cancelled || code == .superseded }
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
