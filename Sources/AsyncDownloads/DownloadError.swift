public import struct Foundation.Data
public import struct Foundation.URL

/// An error that says why a download didn't deliver its file.
///
/// The ``code-swift.property`` identifies the kind of error. The ``description`` describes the error in one line that
/// is fit for a log: it never contains the credentials, the query, or the fragment of the URL. The error also says how
/// many bytes were kept, and whether it is worthwhile to repeat the request. The texts for an alert are
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

    /// The head of the response that is the reason for the error, or `nil` if the reason is another one.
    ///
    /// It is `nil` as well in a background session. It is never a part of the ``description``, and never recorded.
    public var response: ResponseHead?

    /// The first bytes of the body of ``response``, at most 16 KiB, or `nil` if none were received.
    ///
    /// Some services describe the reason of a refusal there. The bytes come from the server as they are; they are never a
    /// part of the ``description``, and never recorded. While further attempts follow, only a body with a stated length is
    /// awaited; after the last one, the rest of the 16 KiB is awaited for five seconds.
    public var responseBody: Data?

    /// The error that the engine or the system reported, without URLs.
    public var underlyingError: (any Error)?

    /// A Boolean value that indicates whether the same request may succeed later without a change.
    ///
    /// When a retryable error reaches the caller, the retry policy has been exhausted.
    public var isRetryable: Bool

    /// A Boolean value that indicates whether this device has no network connection, or none that may be used.
    ///
    /// The value is `false` if a host refuses the connection or isn't reachable, and if the system doesn't report that the
    /// connection of the device is the reason. On Linux, it reports that for addresses, but not if the name of a host can't be
    /// resolved.
    public var isOffline: Bool

    /// The number of bytes that are kept on disk for the next request for the same resource.
    public var retainedByteCount: Int64

    /// The delay that the server requested with Retry-After, if any (RFC 9110, 10.2.3).
    public var retryAfter: Duration?

    /// Creates an error.
    ///
    /// Code that shows errors can be tested with errors that it has created itself.
    ///
    /// - Parameters:
    ///   - code: The kind of the error.
    ///   - detail: Details beyond the code, without secrets.
    ///   - url: The URL of the request.
    ///   - statusCode: The HTTP status code; `nil` uses that of `response`.
    ///   - response: The head of the response that is the reason for the error.
    ///   - responseBody: The first bytes of its body.
    ///   - underlyingError: The error that is the reason for this one; URLs are removed from an error of URLSession.
    ///   - isRetryable: Whether the same request may succeed later; `nil` for the usual answer for the code.
    ///   - isOffline: Whether this device has no network connection; `nil` for what the code and the underlying error say.
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
    /// A Boolean value that indicates whether the program itself has ended the download, so that there is nothing to show.
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
