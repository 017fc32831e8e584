/// The head of a response.
package struct ResponseHead: Sendable, Hashable {
    package var status: StatusCode
    package var headers: HeaderFields

    package init(status: StatusCode, headers: HeaderFields) {
        self.status = status
        self.headers = headers
    }
}
