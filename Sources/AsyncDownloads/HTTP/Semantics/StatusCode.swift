/// The status code of a response (RFC 9110, 15).
package struct StatusCode: Sendable, Hashable {
    /// The numeric value of the status code.
    package let code: Int

    package init(_ code: Int) {
        self.code = code
    }

    /// Whether the server received, understood, and accepted the request (RFC 9110, 15.3).
    package var isSuccess: Bool { 200...299 ~= code }

    /// Whether the status redirects to the URL in the `Location` field (RFC 9110, 15.4); 300 and 304 don't count.
    package var isRedirect: Bool {
        switch code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// Whether the server refuses a request because it receives too many (RFC 6585, 4; RFC 9110, 15.6.4).
    var asksForFewerRequests: Bool { code == 429 || code == 503 }

    /// Whether the same request may succeed later (rule 36).
    ///
    /// CDNs respond with 520 to 524 if the origin server fails.
    package var isRetryable: Bool {
        switch code {
        case 408, 429, 500, 502, 503, 504, 520...524: true
        default: false
        }
    }
}
