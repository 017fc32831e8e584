/// The status code and the header fields of a response.
package struct ResponseHead: Sendable, Hashable {
    /// The status code.
    package var status: StatusCode
    /// The header fields.
    package var headers: HeaderFields

    package init(status: StatusCode, headers: HeaderFields) {
        self.status = status
        self.headers = headers
    }
}
