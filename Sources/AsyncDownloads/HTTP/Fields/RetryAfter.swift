/// How long a server asks to be left alone (RFC 9110, 10.2.3).
package enum RetryAfter: Sendable, Hashable {
    /// This many seconds after the response.
    case seconds(Int64)

    /// Not before this instant.
    case date(HTTPDate)

    /// The longest delay that is told apart from longer ones, 2^31 seconds: RFC 9111, 1.2.2 has the same bound, and its
    /// nanoseconds still fit 64 bits.
    private static let maximumSeconds: Int64 = 1 << 31

    /// Reads the first `Retry-After` field; `nil` as well when there is none.
    package init?(_ headers: HeaderFields, now: HTTPDate? = nil) {
        guard let text = headers.values(for: "Retry-After").first else { return nil }
        self.init(text, now: now)
    }

    /// Parses the value of a `Retry-After` field; huge numbers become 2^31 seconds.
    ///
    /// Without `now` a date in the RFC 850 form fails.
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

    /// How long to wait from `now` on, from zero, for a date that has passed, to 2^31 seconds.
    package func delay(now: HTTPDate) -> Duration {
        let seconds =
            switch self {
            case .seconds(let seconds): seconds
            case .date(let date): date.seconds(since: now)
            }
        return .seconds(min(max(seconds, 0), Self.maximumSeconds))
    }
}
