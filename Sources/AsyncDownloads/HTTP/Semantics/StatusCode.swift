/// The status of a response (RFC 9110, 15), as far as it decides what happens next.
package struct StatusCode: Sendable, Hashable {
    /// The number on the wire.
    package let code: Int

    package init(_ code: Int) {
        self.code = code
    }

    /// Whether the request was understood and accepted (RFC 9110, 15.3).
    package var isSuccess: Bool { 200...299 ~= code }

    /// Whether the resource is to be fetched from `Location` (RFC 9110, 15.4); 300 and 304 are not.
    package var isRedirect: Bool {
        switch code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// Whether the same request may do better later (rule 36); 520 to 524 are what CDNs answer for a failing origin.
    package var isRetryable: Bool {
        switch code {
        case 408, 429, 500, 502, 503, 504, 520...524: true
        default: false
        }
    }
}
