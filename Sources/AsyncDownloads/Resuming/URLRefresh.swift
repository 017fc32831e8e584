public import struct Foundation.Date
public import struct Foundation.URL

/// Asks for a fresh URL of a resource whose URL has expired, or is refused.
///
/// ```swift
/// var request = DownloadRequest(from: signedURL, to: destination)
/// request.refreshURL = URLRefresh { context in
///     FreshURL(try await service.sign(context.url.path))
/// }
/// ```
///
/// It is called when the server answers 401, 403 or 410, and before a request after ``DownloadRequest/urlExpiration``:
/// once at a time for all callers that share a transfer, on a task that is cancelled when nobody waits any more. When
/// the fresh URL is refused as well, without a byte in between, the download fails with the server's answer. An error
/// that the closure throws counts as a failed attempt (``DownloadError/Code/urlRefreshFailed``).
public struct URLRefresh: Sendable {
    /// Why a fresh URL is needed.
    public enum Reason: Sendable, Hashable {
        /// The date that was given for the URL has passed.
        case expired
        /// The server answered with this status.
        case status(Int)
    }

    /// What is known when a fresh URL is needed.
    public struct Context: Sendable, Hashable {
        /// The URL that is of no use any more.
        public var url: URL
        /// Why.
        public var reason: Reason
        /// The bytes that are there already.
        public var receivedByteCount: Int64
    }

    /// Tells one closure from another.
    private final class Identity: Sendable {}

    private let identity = Identity()
    let body: @Sendable (Context) async throws -> FreshURL

    /// Creates a refresh that calls `body`.
    public init(_ body: @escaping @Sendable (Context) async throws -> FreshURL) {
        self.body = body
    }
}

extension URLRefresh: Hashable {
    /// Whether both are copies of one value.
    public static func == (left: Self, right: Self) -> Bool { left.identity === right.identity }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}

/// Where a resource can be had from now on.
public struct FreshURL: Sendable, Hashable {
    /// The http or https URL.
    public var url: URL

    /// Until when it can be used, where that is known.
    public var expiration: Date?

    /// The headers to send from now on; nil keeps those of the request, without its secrets where the origin is another.
    public var headers: HeaderFields?

    /// Which of them are no secret (``DownloadRequest/nonsecretHeaders``); nil keeps the names of the request.
    public var nonsecretHeaders: Set<String>?

    /// Creates a value.
    public init(
        _ url: URL, expiration: Date? = nil, headers: HeaderFields? = nil, nonsecretHeaders: Set<String>? = nil
    ) {
        self.url = url
        self.expiration = expiration
        self.headers = headers
        self.nonsecretHeaders = nonsecretHeaders
    }
}

extension URLRefresh.Context: CustomStringConvertible {
    /// The URL without what may be secret in it, and why another is needed: fit for a log.
    public var description: String { "\(url.redacted), \(reason), \(receivedByteCount) bytes received" }
}

extension FreshURL: CustomStringConvertible {
    /// The URL without what may be secret in it: fit for a log.
    public var description: String { url.redacted }
}

extension URLRefresh.Context: CustomReflectable {
    /// A mirror without children, since the URL may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}

extension FreshURL: CustomReflectable {
    /// A mirror without children, since the URL and the headers may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
