/// A deviation from conforming behavior in one response.
///
/// The faults of a step can be combined: some select the bytes, some change the head, and some interrupt the exchange.
/// Offsets count the body bytes of this response, not the bytes of the resource.
package enum Fault: Sendable, Hashable {
    /// Responds with this status, these fields, and this body, regardless of the request.
    case status(Int, headers: HeaderFields = [:], body: Resource.Body = "")
    /// Responds with an error status and this raw Retry-After value (RFC 9110, 10.2.3).
    case retryAfter(String, status: Int = 503)
    /// Responds with a redirect to this raw Location value (RFC 9110, 10.2.2).
    case redirect(status: Int = 302, location: String)
    /// Replaces the resource's bytes and validators, for this response and all later ones.
    case replaceContent(Content, entityTag: String? = nil, lastModified: String? = nil)

    /// Responds with 200 and the whole body although a range was requested.
    case ignoreRange
    /// Shifts the start of a 206 by this number of bytes, backward if negative; Content-Range states the sent range.
    case rangeShift(Int64)
    /// Limits a 206 to this number of bytes; Content-Range states the sent range.
    case shortRange(Int64)
    /// Responds with 206, from this offset to the end, to a request without Range.
    case unrequestedPartial(from: Int64 = 0)
    /// Responds with 206 and one part as `multipart/byteranges` (RFC 9110, 14.6).
    case multipartByteRanges

    /// Replaces Content-Range in a 206 or 416 by this raw value, or removes it.
    case contentRange(String?)
    /// Replaces Content-Length; the body is unchanged, and the connection is closed after it.
    case contentLength(Int64)
    /// Replaces ETag in this response by this raw value, or removes it; conditions are evaluated with the real one.
    case entityTag(String?)
    /// Sets a field.
    case header(String, String)
    /// Removes a field. A body without Content-Length ends with the connection.
    case removeHeader(String)
    /// Adds a field with a value of this number of bytes.
    case hugeHeader(bytes: Int)

    /// Sends this number of bytes in addition to the declared ones, then closes the connection.
    case extraBytes(Int)
    /// Sends padding after the body until the client closes; chunked instead of with a Content-Length.
    case endless
    /// Sends a chunked body, and closes the connection before the last chunk.
    case chunkedWithoutEnd
    /// Sends a chunked body with a trailer section of these raw lines (RFC 9112, 7.1.2).
    case trailers([String])

    /// Sends a response with this 1xx status before the final response.
    case interim(Int)
    /// Delays the head by this duration.
    case delayHead(Duration)
    /// Holds the head back until ``LoopbackServer/release(_:)`` is called.
    case holdHead
    /// Sends this number of body bytes, then nothing until ``LoopbackServer/release(_:)`` is called.
    case stall(after: Int64)
    /// Reads nothing from the connection while the body is sent.
    ///
    /// The server doesn't notice that a client closes its TLS connection until the client closes the socket.
    case ignoreInput
    /// Sends at most this number of body bytes per second.
    case throttle(bytesPerSecond: Int)

    /// Closes the connection after this number of body bytes.
    case cut(after: Int64, ConnectionEnd = .orderly)
    /// Closes the connection instead of responding.
    case closeBeforeHead(ConnectionEnd = .orderly)
    /// Closes the connection after this number of bytes of the head.
    case closeInsideHead(afterBytes: Int)
    /// Sends bytes that are not HTTP, then closes the connection.
    case garbage
}
