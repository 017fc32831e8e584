/// The interpretation of a response to an exchange that fetches a part of a file while other exchanges fetch the rest.
///
/// The check is stricter than in ``ResponseInterpreter``: the response has to begin exactly at the requested position,
/// and the response itself has to prove that it belongs to the same object. A condition in the request doesn't count as
/// a proof, because the bytes of two objects would be combined if a server ignored it. A part that isn't accepted isn't
/// lost: the other exchanges fetch its bytes.
struct SegmentInterpreter: Sendable {
    /// The bounded range that was requested.
    var requested: RequestedRange
    /// The representation of the received bytes.
    var known: Representation
    /// The `ETag` field of the first response, if the representation has no strong validator.
    var weakTag: String?
    /// Whether a checksum verifies the file, so that parts without a strong validator may be combined.
    var isChecksumExpected: Bool
    /// The URL that responded.
    var url: String
    /// The time when the response arrived.
    var date: HTTPDate

    init(
        requested: RequestedRange, known: Representation, weakTag: String? = nil, isChecksumExpected: Bool = false,
        url: String, date: HTTPDate
    ) {
        self.requested = requested
        self.known = known
        self.weakTag = weakTag
        self.isChecksumExpected = isChecksumExpected
        self.url = url
        self.date = date
    }

    /// Returns what `head` means for the requested range.
    func decide(_ head: ResponseHead) -> SegmentDecision {
        switch head.status.code {
        case 206: decidePartial(head)
        case 200, 203: .ignoresRanges
        case 412: decideFailedCondition(head)
        case 401, 403, 404, 410: .denied(head.status)
        case _ where head.status.isRedirect: .redirect(location: head.headers.singleton("Location").value)
        case _ where head.status.isRetryable:
            .refused(retryAfter: RetryAfter.delay(head, now: date))
        default: .unusable
        }
    }

    private func decidePartial(_ head: ResponseHead) -> SegmentDecision {
        guard let range = requested.range, let last = range.last,
            !head.headers.values(for: "Content-Type").contains(where: { $0.lowercased().hasPrefix("multipart/") }),
            ContentCoding(head.headers) == nil, !head.headers.hasUnknownTransferCoding,
            case .satisfied(let positions, let completeLength?)? = ContentRange(head.headers)
        else { return .unusable }
        // The server may send fewer bytes than requested (rule 19), but not others.
        guard positions.lowerBound == range.first, positions.upperBound <= last else { return .unusable }
        switch ContentLength(head.headers) {
        case .invalid: return .unusable
        case .value(let count) where count != positions.upperBound - positions.lowerBound + 1: return .unusable
        case .value, .absent: break
        }
        guard completeLength == known.length else { return different }
        return switch identity(head) {
        case .same: .accept(end: positions.upperBound + 1)
        case .different: different
        case .absent: .unusable
        }
    }

    private func decideFailedCondition(_ head: ResponseHead) -> SegmentDecision {
        guard case .ifMatch(let validator) = requested.condition else { return .unusable }
        return validator.matches(head.headers, receivedAt: date) == .same ? .retryWithoutCondition : different
    }

    /// The decision about a response that differs: a change only if the resource is the same, because the validators of
    /// two resources are not comparable (rule 10).
    private var different: SegmentDecision { isSameResource ? .changed : .unusable }

    /// Whether the response came from the URL of the received bytes, ignoring the query, which may be a signature.
    private var isSameResource: Bool {
        func withoutQuery(_ url: String) -> Substring.UTF8View { url.utf8.prefix { $0 != UInt8(ascii: "?") } }
        return withoutQuery(url).elementsEqual(withoutQuery(known.finalURL))
    }

    /// Compares the digests and validators of the object; ``Validator/Match/absent`` if the response proves nothing.
    ///
    /// If both responses have an entity tag, the dates are ignored, because they may differ between the nodes of one
    /// server.
    private func identity(_ head: ResponseHead) -> Validator.Match {
        let digests = ReprDigest(head.headers)
        if let digests, let recorded = known.digests {
            if digests.contradicts(recorded) { return .different }
            if digests.agrees(with: recorded) { return .same }
        }
        guard let validator = known.validator else { return isChecksumExpected ? weakIdentity(head) : .absent }
        let match = validator.matches(head.headers, receivedAt: date)
        guard match == .absent, let recorded = known.lastModified else { return match }
        return Validator.compareDate(of: head.headers, with: recorded, receivedAt: date) == .different
            ? .different : .absent
    }

    /// Compares the tags and dates of an object without a strong validator; a checksum verifies the file later.
    private func weakIdentity(_ head: ResponseHead) -> Validator.Match {
        switch (head.headers.singleton("ETag").value, weakTag) {
        case (nil, nil): break
        case (let tag?, let weakTag?) where tag.hasSameBytes(as: weakTag): break
        default: return .different
        }
        guard let recorded = known.lastModified else { return .same }
        return Validator.compareDate(of: head.headers, with: recorded, receivedAt: date) == .different
            ? .different : .same
    }
}

/// The meaning of a response's head for an exchange that fetches a part of a file while other exchanges fetch the rest.
enum SegmentDecision: Sendable, Hashable {
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
