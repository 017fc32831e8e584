public import struct Foundation.Date
public import struct Foundation.URL

/// A source of fresh URLs for a resource whose URL has expired or is refused.
///
/// ```swift
/// var request = DownloadRequest(from: signedURL, to: destination)
/// request.refreshURL = URLRefresh { context in
///     FreshURL(try await service.sign(context.url.path))
/// }
/// ```
///
/// The closure is called when the server responds with 401, 403, or 410, and before a request after
/// ``DownloadRequest/urlExpiration``. All downloads that share a transfer share one call at a time, in a task that is
/// canceled when no download waits for it anymore. If a fresh URL is refused as well, the download fails with the
/// server's response, unless another event occurred in between, such as a lost connection, another response, or a
/// pause. After ten refreshes without an accepted response, a refusal is final in any case. An error that the closure
/// throws counts as a failed attempt (``DownloadError/Code/urlRefreshFailed``).
public struct URLRefresh: Sendable {
    /// The reason why a fresh URL is needed.
    public enum Reason: Sendable, Hashable {
        /// The expiration date of the URL has passed.
        case expired
        /// The server responded with this status code.
        case status(Int)
    }

    /// The circumstances in which a fresh URL is needed.
    public struct Context: Sendable, Hashable {
        /// The URL that can't be used anymore.
        public var url: URL
        /// The reason why a fresh URL is needed.
        public var reason: Reason
        /// The number of bytes that have been received.
        public var receivedByteCount: Int64
    }

    /// An object whose identity distinguishes one closure from another.
    private final class Identity: Sendable {}

    private let identity = Identity()
    let body: @Sendable (Context) async throws -> FreshURL

    /// Creates a refresh that calls `body` for each fresh URL.
    public init(_ body: @escaping @Sendable (Context) async throws -> FreshURL) {
        self.body = body
    }
}

extension URLRefresh: Hashable {
    /// Returns whether two values are copies of the same value.
    public static func == (left: Self, right: Self) -> Bool { left.identity === right.identity }

    /// Hashes the property that `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}

/// A URL that replaces the previous URL of a resource.
public struct FreshURL: Sendable, Hashable {
    /// The http or https URL of the resource.
    public var url: URL

    /// The date until which the URL can be used, if it is known.
    public var expiration: Date?

    /// The headers to send from now on.
    ///
    /// If the value is `nil`, the headers of the request are kept, without the secret ones if the origin is a different
    /// one.
    public var headers: HeaderFields?

    /// The names of the headers that aren't secret (``DownloadRequest/nonsecretHeaders``).
    ///
    /// If the value is `nil`, the names of the request are kept.
    public var nonsecretHeaders: Set<String>?

    /// Creates a fresh URL, by default without an expiration date and with the headers of the request.
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
    /// A description that is fit for a log: the URL without secrets, the reason, and the number of received bytes.
    public var description: String { "\(url.redacted), \(reason), \(receivedByteCount) bytes received" }
}

extension FreshURL: CustomStringConvertible {
    /// The URL without anything that may be secret, fit for a log.
    public var description: String { url.redacted }
}

extension URLRefresh.Context: CustomReflectable {
    /// A mirror without children, because the URL may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}

extension FreshURL: CustomReflectable {
    /// A mirror without children, because the URL and the headers may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
