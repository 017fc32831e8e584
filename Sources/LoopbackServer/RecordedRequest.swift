/// A request as it arrived.
package struct RecordedRequest: Sendable, Hashable {
    /// The position of the request among all requests to the server, starting at 1.
    package let number: Int

    /// The number of the connection on which the request arrived, starting at 1.
    package let connection: Int

    package let method: String

    /// The percent-encoded path of the request target, without the query.
    package let path: String

    package let query: String?

    package let headers: HeaderFields

    /// The status of the response, which may still be in progress; `nil` if no complete head is sent.
    package let status: Int?

    /// The value of a header field.
    package subscript(name: String) -> String? { headers[name] }
}
