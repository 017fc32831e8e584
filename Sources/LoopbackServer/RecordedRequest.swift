#if ServerStack
/// A request as it arrived.
package struct RecordedRequest: Sendable, Hashable {
    /// The place among all requests of the server, from 1.
    package let number: Int

    /// The connection it came on, from 1.
    package let connection: Int

    package let method: String

    /// The path of the target, percent-encoded, without query.
    package let path: String

    package let query: String?

    package let headers: HeaderFields

    /// The status it was answered with, or is being; `nil` where no head is sent.
    package let status: Int?

    /// The value of a header field.
    package subscript(name: String) -> String? { headers[name] }
}
#endif
