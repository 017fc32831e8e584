public import struct Foundation.URL

/// The status code and the header fields of a response, and the URL that responded.
///
/// A head that the package passes to its callers contains no `Set-Cookie` and `Set-Cookie2` fields. `Location` and
/// `Content-Location` have no query and no fragment, and are omitted if they contain a user name or aren't a URL. The
/// ``url`` is complete, and may contain a signature.
///
/// ```swift
/// do {
///     _ = try await download.file
/// } catch {
///     print(error.response?.headers["X-Error-Message"] ?? error.description)
/// }
/// ```
public struct ResponseHead: Sendable, Hashable {
    /// The URL that responded, after the redirects before it.
    public var url: URL

    /// The status code (RFC 9110, 15).
    public var statusCode: Int

    /// The header fields, in the order of the response if the engine keeps it.
    public var headers: HeaderFields

    /// Creates a head, for tests of code that receives one.
    public init(url: URL, statusCode: Int, headers: HeaderFields = [:]) {
        self.url = url
        self.statusCode = statusCode
        self.headers = headers
    }

    /// Creates the head that an engine reports; the receiver of the exchange adds the requested URL.
    package init(status: StatusCode, headers: HeaderFields) {
        self.init(url: Self.unknownURL, statusCode: status.code, headers: headers)
    }

    private static let unknownURL = URL(fileURLWithPath: "/", isDirectory: true)
}

extension ResponseHead {
    /// The media type, such as `application/zip`, in lower case and without parameters (RFC 9110, 8.3.1); `nil` if the
    /// response has no such field, several different ones, or an invalid one.
    public var mediaType: String? { MediaType(headers.singleton("Content-Type").value)?.description }

    /// The length of the response's body in bytes (RFC 9110, 8.6); `nil` if it isn't stated or isn't valid.
    ///
    /// The body of a response with the status code 206 is a part of the file.
    public var contentLength: Int64? {
        if case .value(let length) = ContentLength(headers) { length } else { nil }
    }

    /// The status code as a value of `StatusCode`.
    package var status: StatusCode {
        get { StatusCode(statusCode) }
        set { statusCode = newValue.code }
    }

    /// The head without values that may be secrets from the server: cookies and the query of a redirect's target.
    var withoutSecrets: Self {
        var head = self
        for name in ["Set-Cookie", "Set-Cookie2"] { head.headers[name] = nil }
        for name in ["Location", "Content-Location"] where head.headers.first(name) != nil {
            head.headers[name] = head.headers.singleton(name).value.flatMap(Self.withoutQuery)
        }
        return head
    }

    /// Returns a reference without its query and its fragment; nil if it contains a user name, or isn't a URL.
    private static func withoutQuery(_ reference: String) -> String? {
        guard let url = URL(string: reference), url.user == nil, url.password == nil else { return nil }
        // Bytes are compared, because a delimiter and a combining mark after it form one `Character`.
        let end = reference.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        return String(reference[..<(end ?? reference.endIndex)])
    }
}

extension ResponseHead: CustomStringConvertible {
    /// A description that is fit for a log: the status code, the URL without secrets, and the names of the fields.
    public var description: String {
        let names = headers.map { $0.name.utf8.allSatisfy(\.isTokenCharacter) ? $0.name : "?" }
        let fields = names.isEmpty ? "no fields" : names.joined(separator: ", ")
        return "\(statusCode) from \(url.redacted) with \(fields)"
    }
}

extension ResponseHead: CustomReflectable {
    /// A mirror without children, because the URL and the fields may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
