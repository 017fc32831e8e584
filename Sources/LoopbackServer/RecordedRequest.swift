/// A request that the server received.
package struct RecordedRequest: Sendable, Hashable {
    /// The position of the request among all requests to the server, starting at 1.
    package let number: Int

    /// The number of the connection on which the request arrived, starting at 1.
    package let connection: Int

    /// The method, such as `GET`.
    package let method: String

    /// The percent-encoded path of the request target, without the query.
    package let path: String

    /// The query of the request target, without the question mark; `nil` if the target has none.
    package let query: String?

    /// The header fields as received.
    package let headers: HeaderFields

    /// The status of the response, which may still be in progress; `nil` until the complete head was sent.
    package let status: Int?

    /// The value of the header field with this name.
    package subscript(name: String) -> String? { headers[name] }
}
