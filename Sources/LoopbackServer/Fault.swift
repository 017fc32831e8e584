#if ServerStack
/// One departure from honest serving, for one response.
///
/// Faults of one step combine: those that choose the bytes, those that change the head and those that break the
/// exchange off. Offsets count the body bytes of this response, not those of the resource.
package enum Fault: Sendable, Hashable {
    /// Another status, fields and body, whatever was asked for.
    case status(Int, headers: HeaderFields = [:], body: Resource.Body = "")
    /// An error with a raw Retry-After.
    case retryAfter(String, status: Int = 503)
    /// A redirection with a raw Location.
    case redirect(status: Int = 302, location: String)
    /// From this request on the resource has these bytes and validators; answered by what it has now.
    case replaceContent(Content, entityTag: String? = nil, lastModified: String? = nil)

    /// 200 with the whole body, although a range was asked for.
    case ignoreRange
    /// A 206 that starts that much later, or earlier when negative, and says so.
    case rangeShift(Int64)
    /// A 206 of at most that many bytes, which says so.
    case shortRange(Int64)
    /// 206 from that offset to the end when no Range was sent.
    case unrequestedPartial(from: Int64 = 0)
    /// 206 with one part as `multipart/byteranges`.
    case multipartByteRanges

    /// Another raw Content-Range, or none, in a 206 or 416.
    case contentRange(String?)
    /// Another Content-Length; the body is what it was, and the connection is closed after it.
    case contentLength(Int64)
    /// Another raw ETag, or none, in this response; conditions are evaluated with the real one.
    case entityTag(String?)
    /// Sets a field.
    case header(String, String)
    /// Removes a field. A body without Content-Length ends with the connection.
    case removeHeader(String)
    /// Adds a field with a value of that many bytes.
    case hugeHeader(bytes: Int)

    /// That many bytes more than declared, then the connection is closed.
    case extraBytes(Int)
    /// Padding for ever after the body, until the client closes; chunked, where the framing would be a length.
    case endless
    /// Chunked, and closed before the last chunk.
    case chunkedWithoutEnd
    /// Chunked, with a trailer section of these raw lines (RFC 9112, 7.1.2).
    case trailers([String])

    /// Sends a response of that status, 1xx, before the real one.
    case interim(Int)
    /// Sends the head that much later.
    case delayHead(Duration)
    /// Sends the head after ``LoopbackServer/release(_:)``.
    case holdHead
    /// Sends that many body bytes, then nothing until ``LoopbackServer/release(_:)``.
    case stall(after: Int64)
    /// Sends no more than that many body bytes a second.
    case throttle(bytesPerSecond: Int)

    /// Closes the connection after that many body bytes.
    case cut(after: Int64, Closing = .orderly)
    /// Closes the connection instead of an answer.
    case closeBeforeHead(Closing = .orderly)
    /// Closes the connection after that many bytes of the head.
    case closeInsideHead(afterBytes: Int)
    /// Sends something that is not HTTP, then closes.
    case garbage
}
#endif
