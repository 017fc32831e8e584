/// The meaning of a response's head for an exchange that fetches a part of a file while other exchanges fetch the rest.
package enum SegmentDecision: Sendable, Hashable {
    /// The body contains the requested bytes of the same object, up to this position.
    case accept(end: Int64)
    /// The object has another validator, length, or digest than the received bytes.
    case changed
    /// The server doesn't understand the condition; the same range may be requested once without it.
    case retryWithoutCondition
    /// The part is at another URL (RFC 9110, 15.4).
    case redirect(location: String?)
    /// The server sends the whole body in response to a range request, so additional exchanges are useless (rule 23).
    case ignoresRanges
    /// The response doesn't prove that its object is the same, or has another range; a new exchange would fail, too.
    case unusable
    /// The server refuses the URL with this status; the URL before redirects may lead to a URL that isn't refused.
    case denied(StatusCode)
    /// The server doesn't serve another connection now, and asks the client to wait for the given time, if any.
    case refused(retryAfter: Duration?)
}
