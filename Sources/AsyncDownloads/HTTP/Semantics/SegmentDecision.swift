/// The meaning of a response's head for an exchange that fetches a part of a file while other exchanges fetch the rest.
package enum SegmentDecision: Sendable, Hashable {
    /// The body contains the requested bytes up to this position, and they are of the same object.
    case accept(end: Int64)
    /// The object has another validator, length, or digest than the received bytes.
    case changed
    /// The server doesn't understand the condition; the same range may be requested once without it.
    case retryWithoutCondition
    /// The part is at another URL (RFC 9110, 15.4).
    case redirect(location: String?)
    /// The server sends the whole body in response to a range, so that further exchanges are of no use (rule 23).
    case ignoresRanges
    /// The response proves nothing, or its range is not the requested one; another exchange would get the same.
    case unusable
    /// The URL is refused with this status; the URL before redirects may lead to one that is not.
    case denied(StatusCode)
    /// The server doesn't serve a further connection now, and asks to wait for the given time, if any.
    case refused(retryAfter: Duration?)
}
