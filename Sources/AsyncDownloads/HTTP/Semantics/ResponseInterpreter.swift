/// The interpretation of a response for a download (RFC 9110, 13 to 15; the numbered rules of resumption).
struct ResponseInterpreter: Sendable {
    /// The range that was requested.
    var requested: RequestedRange
    /// The representation of the received bytes; `nil` if no bytes were received.
    var known: Representation?
    /// The number of bytes that were received, counted from the first byte of the file.
    var received: Int64
    /// The URL that responded.
    var url: String
    /// Whether the engine decodes content codings.
    var decodesContent: Bool
    /// The time when the response arrived.
    var date: HTTPDate
    /// Whether a validator or a digest in the response has to prove that the response continues the received bytes.
    ///
    /// The value is true if the bytes came from another URL, for example. A response without either is then not
    /// accepted, even if the request had a condition.
    var requiresVerification: Bool
    /// Whether the same range may be requested again without a condition; a transfer does this at most once.
    var mayDropCondition: Bool
    /// Whether a part with another validator is accepted if the length is the same, because a digest proves the file
    /// later (rule 35).
    var toleratesChange: Bool
    /// The representation of the files at the destinations, if the request asks whether it has changed.
    var existing: Representation?

    init(
        requested: RequestedRange, known: Representation?, received: Int64, url: String, decodesContent: Bool,
        date: HTTPDate,
        requiresVerification: Bool = false, mayDropCondition: Bool = false, toleratesChange: Bool = false,
        existing: Representation? = nil
    ) {
        self.requested = requested
        self.known = known
        self.received = received
        self.url = url
        self.decodesContent = decodesContent
        self.date = date
        self.requiresVerification = requiresVerification
        self.mayDropCondition = mayDropCondition
        self.toleratesChange = toleratesChange
        self.existing = existing
    }

    /// Returns what `head` means for the requested range.
    func decide(_ head: ResponseHead) -> ResponseDecision {
        switch head.status.code {
        case 200...206 where !decodesContent && head.headers.hasUnknownTransferCoding:
            .fail(.init(.malformedResponse, "the body has an unknown transfer coding"))
        case 200, 203: decideWhole(head)
        case 206: decidePartial(head)
        case 304 where requested.isRevalidation: decideUnchanged(head)
        case 412 where requested.isRevalidation: .retryRequest(.withoutCondition)
        case 412 where requested.condition != .none:
            .retryRequest(mayDropCondition && mayProveItself ? .withoutCondition : .everything(.contentChanged))
        case 416 where requested.range != nil: decideUnsatisfiable(head)
        case _ where head.status.isRedirect: .redirect(location: head.headers.singleton("Location").value)
        default: .fail(refusal(head))
        }
    }

    private func refusal(_ head: ResponseHead) -> ResponseDecision.Failure {
        let retryAfter = head.status.isRetryable ? RetryAfter.delay(head, now: date) : nil
        let detail = head.status.isSuccess ? "the response does not contain the file" : ""
        return .init(.httpStatus, detail, isRetryable: head.status.isRetryable, retryAfter: retryAfter)
    }

    // MARK: 200

    private func decideWhole(_ head: ResponseHead) -> ResponseDecision {
        if requested.start > 0, requested.isBounded { return .retryRequest(.unbounded) }
        if !decodes(head), ContentLength(head.headers) == .invalid {
            // Rule 13: the length of such a body is unknown, so its end doesn't prove that it is complete.
            return .fail(.init(.malformedResponse, "the Content-Length field is invalid", isRetryable: true))
        }
        if let known = requested.start > 0 ? known : existing, looksLikePortal(head, insteadOf: known) {
            return .fail(
                .init(
                    .unexpectedHTML, "received a web page instead of the file, possibly from a captive portal",
                    isRetryable: true))
        }
        let length = length(head)
        guard requested.start > 0 else {
            return .begin(representation(head, length: length), end: length, restart: nil)
        }
        let isSame =
            match(head) == .same && (length == nil || known?.length == nil || length == known?.length)
        if mayDropCondition, mayBeSame(isSame, head) { return .retryRequest(.withoutCondition) }
        return .begin(
            representation(head, length: length), end: length, restart: isSame ? .rangeIgnored : .contentChanged)
    }

    /// Returns whether the received bytes may belong to the same object although the server sent a whole body.
    ///
    /// If so, the same range is requested again, once, without the condition.
    private func mayBeSame(_ isSame: Bool, _ head: ResponseHead) -> Bool {
        guard case .ifRange(let validator) = requested.condition else { return false }
        let length = length(head)
        if toleratesChange, length != nil, length == known?.length { return true }
        if agrees(head), length == nil || known?.length == nil || length == known?.length { return true }
        // Rule 34: a server that supports only dates in If-Range sends a whole body for a tag, but sends the range
        // without If-Range.
        guard case .entityTag = validator else { return false }
        return isSame
    }

    /// Whether a digest, instead of a validator, can prove a part that is requested without a condition.
    private var mayProveItself: Bool { toleratesChange || requiresVerification && known?.digests != nil }

    /// Returns whether the head states a recorded digest of the representation.
    private func agrees(_ head: ResponseHead) -> Bool { digests(head)?.agrees(with: known?.digests ?? []) ?? false }

    /// Returns whether the response looks like the page of a captive portal (rule 31).
    ///
    /// Such a page is HTML without a validator, and the known representation has another type and length.
    private func looksLikePortal(_ head: ResponseHead, insteadOf known: Representation) -> Bool {
        MediaType(contentType(head))?.isHTML == true && MediaType(known.contentType)?.isHTML != true
            && known.validator?.matches(head.headers, receivedAt: date) == .absent && length(head) != known.length
    }

    // MARK: 206

    func decidePartial(_ head: ResponseHead, isComparison: Bool = false) -> ResponseDecision {
        guard let range = requested.range else {
            return .fail(.init(.malformedResponse, "received a partial response to a request for the whole file"))
        }
        let types = head.headers.values(for: "Content-Type")
        if types.contains(where: { $0.lowercased().hasPrefix("multipart/byteranges") }) {
            return rangeFault("received several parts in response to a single range")
        }
        guard case .satisfied(let positions, let completeLength)? = ContentRange(head.headers) else {
            return rangeFault("the partial response has no valid Content-Range field")
        }
        if ContentCoding(head.headers) != nil {
            return received > 0 ? .retryRequest(.everything(.contentCodingChanged)) : .retryRequest(.unbounded)
        }
        if let last = range.last, positions.upperBound > last {
            return rangeFault("the partial response extends beyond the requested range")
        }
        guard positions.lowerBound <= range.first, positions.upperBound >= range.first else {
            return rangeFault("the partial response does not contain the requested offset")
        }
        switch ContentLength(head.headers) {
        case .invalid:
            return rangeFault("the Content-Length field is invalid")
        case .value(let bodyLength) where bodyLength != positions.upperBound - positions.lowerBound + 1:
            return rangeFault("the Content-Length and Content-Range fields contradict each other")
        case .value, .absent:
            break
        }
        return range.first == 0 && !isComparison
            ? decideFirstPart(head, positions: positions, completeLength: completeLength)
            : decideNextPart(
                head, positions: positions, completeLength: completeLength, isComparison: isComparison)
    }

    private func decideFirstPart(
        _ head: ResponseHead, positions: ClosedRange<Int64>, completeLength: Int64?
    ) -> ResponseDecision {
        let representation = representation(head, length: completeLength)
        let end = positions.upperBound + 1
        // Without a validator, the next part could belong to another representation.
        if representation.validator == nil, completeLength != end { return .retryRequest(.unbounded) }
        return .begin(representation, end: end, restart: nil)
    }

    private func decideNextPart(
        _ head: ResponseHead, positions: ClosedRange<Int64>, completeLength: Int64?, isComparison: Bool
    ) -> ResponseDecision {
        if isComparison, let known, known.validator == nil, known.length != nil, known.length == completeLength,
            known.lastModified.map({ Validator.compareDate(of: head.headers, with: $0, receivedAt: date) })
                != .different
        {
            // A validator isn't needed here, because the comparison of the bytes is the proof.
            return .append(
                .init(
                    skipped: requested.start - positions.lowerBound, end: positions.upperBound + 1,
                    representation: known)
            )
        }
        guard let known, let match = match(head) else {
            return .retryRequest(.everything(.contentChanged))
        }
        if let completeLength, let length = known.length, completeLength != length {
            return .retryRequest(.everything(.contentChanged))
        }
        let digests = digests(head)
        if let digests, digests.contradicts(known.digests ?? []) { return .retryRequest(.everything(.contentChanged)) }
        // Rule 21: a part without a validator is proven by the condition in the request, or not at all.
        let isProven =
            agrees(head) || match == .same || match == .absent && !requiresVerification && requested.condition != .none
        guard isProven || toleratesChange && completeLength != nil && completeLength == known.length else {
            return .retryRequest(
                .everything(match == .absent && !requiresVerification ? .noValidator : .contentChanged))
        }
        if let length = known.length, positions.upperBound >= length {
            return rangeFault("the partial response extends beyond the end of the file")
        }
        var continued = known
        continued.finalURL = url
        continued.length = known.length ?? completeLength
        continued.digests = known.digests ?? digests?.checksums
        if !isProven, known.unverifiedFrom == nil { continued.unverifiedFrom = requested.start }
        continued.cameFromDifferentURL = false
        continued.isImported = false
        // The digest proves the part although its validator differs; later requests use the new validator.
        if match == .different, isProven {
            if let validator = Validator.strong(in: head.headers, receivedAt: date) { continued.validator = validator }
            if let lastModified = lastModified(head) { continued.lastModified = lastModified }
        }
        return .append(
            .init(
                skipped: requested.start - positions.lowerBound, end: positions.upperBound + 1,
                representation: continued))
    }

    private func rangeFault(_ detail: String) -> ResponseDecision {
        .fail(.init(.malformedResponse, detail, isRetryable: true, blamesRange: true))
    }

    // MARK: 416

    private func decideUnsatisfiable(_ head: ResponseHead) -> ResponseDecision {
        guard requested.start > 0 else { return .retryRequest(.unbounded) }
        guard case .unsatisfied(let completeLength)? = ContentRange(head.headers) else {
            return .retryRequest(.everything(.rangeNotSatisfiable))
        }
        let match = match(head) ?? .absent
        // If the request had a condition, the server evaluated the range only after it found the validator unchanged.
        guard completeLength == received, known?.length ?? completeLength == completeLength,
            match == .same || match == .absent && !requiresVerification && requested.condition != .none
        else { return .retryRequest(.everything(.contentChanged)) }
        return .complete(length: completeLength)
    }

    // MARK: Fields

    /// Compares the validators in the head with the recorded ones; `nil` if no validator is recorded.
    ///
    /// If both have an entity tag, only the tags are compared, because the dates may differ between the nodes of one
    /// server. If the head has no tag, a date that differs from the recorded one means another representation.
    func match(_ head: ResponseHead) -> Validator.Match? {
        guard let known, let match = known.validator?.matches(head.headers, receivedAt: date) else { return nil }
        guard match == .absent, let recorded = known.lastModified else { return match }
        let isOther = Validator.compareDate(of: head.headers, with: recorded, receivedAt: date) == .different
        return isOther ? .different : match
    }

    /// The length limit in bytes for the text of a descriptive field; each save of a checkpoint writes the text again.
    private static let longestText = 1024

    private func recordable(_ text: String?) -> String? {
        text.flatMap { $0.utf8.count <= Self.longestText ? $0 : nil }
    }

    private func contentType(_ head: ResponseHead) -> String? { head.headers.first("Content-Type") }

    private func lastModified(_ head: ResponseHead) -> String? {
        recordable(head.headers.singleton("Last-Modified").value)
    }

    private func contentCoding(_ head: ResponseHead) -> String? {
        // The body is coded even if the names of its codings are too long to be recorded.
        ContentCoding(head.headers).map { recordable($0.description) ?? "unknown" }
    }

    private func suggestedName(_ head: ResponseHead) -> String? {
        ContentDisposition(head.headers)?.suggestedFileName.flatMap(FileName.sanitized)
    }

    private func length(_ head: ResponseHead) -> Int64? {
        if decodes(head) { return nil }
        guard case .value(let length) = ContentLength(head.headers) else { return nil }
        return length
    }

    /// Returns whether the engine decodes the body, so that the head doesn't describe the delivered bytes.
    private func decodes(_ head: ResponseHead) -> Bool { decodesContent && ContentCoding(head.headers) != nil }

    /// Returns the digests in the head; `nil` if the engine decodes the body.
    ///
    /// The digests are computed over the coded bytes (RFC 9530, 3), which such an engine doesn't deliver.
    func digests(_ head: ResponseHead) -> ReprDigest? { decodes(head) ? nil : ReprDigest(head.headers) }

    private func representation(_ head: ResponseHead, length: Int64?) -> Representation {
        Representation(
            finalURL: url,
            validator: Validator.strong(in: head.headers, receivedAt: date),
            length: length,
            contentCoding: contentCoding(head),
            contentType: recordable(contentType(head)),
            suggestedName: suggestedName(head),
            lastModified: lastModified(head),
            digests: digests(head)?.checksums)
    }
}
