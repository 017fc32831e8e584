/// The time that a server asks a client to wait before the next request (RFC 9110, 10.2.3).
package enum RetryAfter: Sendable, Hashable {
    /// The number of seconds to wait after the response.
    case seconds(Int64)

    /// The instant before which the request should not be repeated.
    case date(HTTPDate)

    /// The longest delay, 2^31 seconds; longer ones are reduced to it.
    ///
    /// RFC 9111, 1.2.2 uses the same limit, and a delay of this length still fits in 64 bits as a number of
    /// nanoseconds.
    static let maximumSeconds: Int64 = 1 << 31

    /// Reads the first `Retry-After` field of a response, or its rate limit fields if that field is missing or
    /// malformed.
    package init?(_ head: ResponseHead, now: HTTPDate? = nil) {
        if let value = head.headers.first("Retry-After").flatMap({ Self($0, now: now) }) {
            self = value
        } else if let value = RateLimit.retryAfter(head.headers, isRefusal: head.status.asksForFewerRequests) {
            self = value
        } else {
            return nil
        }
    }

    /// Returns the time to wait from `now` that a response states; nil if it states none, zero, or one that has passed.
    package static func delay(_ head: ResponseHead, now: HTTPDate) -> Duration? {
        guard let delay = Self(head, now: now)?.delay(now: now), delay > .zero else { return nil }
        return delay
    }

    /// Parses the value of a `Retry-After` field; `nil` if it is malformed.
    ///
    /// A number above 2^31 becomes 2^31. Without `now`, a date in the RFC 850 form is rejected.
    package init?(_ text: String, now: HTTPDate? = nil) {
        let text = text.trimmingFieldWhitespace()
        if !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) {
            self = .seconds(min(Int64(text) ?? Self.maximumSeconds, Self.maximumSeconds))
        } else if let date = HTTPDate(String(text), now: now) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// Returns the time to wait from `now`: between zero, for a date in the past, and 2^31 seconds.
    package func delay(now: HTTPDate) -> Duration {
        let seconds =
            switch self {
            case .seconds(let seconds): seconds
            case .date(let date): date.seconds(since: now)
            }
        return .seconds(min(max(seconds, 0), Self.maximumSeconds))
    }
}
