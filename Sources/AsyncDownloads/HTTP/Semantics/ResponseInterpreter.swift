/// Decides what responses mean (RFC 9110, 13 to 15; the numbered rules of resumption).
package struct ResponseInterpreter: Sendable {
    /// What was asked.
    package var asked: RequestedRange
    /// The representation whose bytes are at hand, if any are.
    package var known: Representation?
    /// How many bytes are at hand from the first on.
    package var received: Int64
    /// The URL that answered.
    package var url: String
    /// Whether the engine decodes content codings.
    package var decodesContent: Bool
    /// When the response arrived.
    package var date: HTTPDate
    /// Whether the bytes at hand came from another URL, so that a silent server's word does not do.
    package var requiresVerification: Bool
    /// Whether the same range may still be asked for without a condition, which a transfer does once.
    package var mayDropCondition: Bool
    /// Whether bytes of the same length under another validator may follow, since a digest decides at the end (rule 35).
    package var toleratesChange: Bool

    package init(
        asked: RequestedRange, known: Representation?, received: Int64, url: String, decodesContent: Bool,
        date: HTTPDate,
        requiresVerification: Bool = false, mayDropCondition: Bool = false, toleratesChange: Bool = false
    ) {
        self.asked = asked
        self.known = known
        self.received = received
        self.url = url
        self.decodesContent = decodesContent
        self.date = date
        self.requiresVerification = requiresVerification
        self.mayDropCondition = mayDropCondition
        self.toleratesChange = toleratesChange
    }

    /// What `head` means.
    package func decide(_ head: ResponseHead) -> ResponseDecision {
        switch head.status.code {
        case 200, 203: decideWhole(head)
        case 206: decidePartial(head)
        case 412 where asked.condition != .none:
            .retryRequest(mayDropCondition && mayProveItself ? .withoutCondition : .everything(.contentChanged))
        case 416 where asked.range != nil: decideUnsatisfiable(head)
        case _ where head.status.isRedirect: .redirect(location: head.headers.singleton("Location").value)
        default: .fail(refusal(head))
        }
    }

    private func refusal(_ head: ResponseHead) -> ResponseDecision.Failure {
        let retryAfter = head.status.isRetryable ? RetryAfter(head.headers, now: date)?.delay(now: date) : nil
        let detail = head.status.isSuccess ? "a status without the file" : ""
        return .init(.httpStatus, detail, isRetryable: head.status.isRetryable, retryAfter: retryAfter)
    }

    // MARK: 200

    private func decideWhole(_ head: ResponseHead) -> ResponseDecision {
        if asked.start > 0, asked.isBounded { return .retryRequest(.unbounded) }
        if !decodes(head), ContentLength(head.headers) == .invalid {
            // Rule 13: where such a body ends is anyone's guess, so its end would prove nothing.
            return .fail(.init(.malformedResponse, "an unusable Content-Length", isRetryable: true))
        }
        guard asked.start > 0 else {
            return .begin(representation(head, length: length(head)), end: length(head), restart: nil)
        }
        if looksLikePortal(head) {
            return .fail(
                .init(.malformedResponse, "a web page in place of the file, as captive portals send", isRetryable: true)
            )
        }
        let length = length(head)
        let isSame =
            match(head) == .same && (length == nil || known?.length == nil || length == known?.length)
        if mayDropCondition, mayBeSame(isSame, head) { return .retryRequest(.withoutCondition) }
        return .begin(
            representation(head, length: length), end: length, restart: isSame ? .rangeIgnored : .contentChanged)
    }

    /// Whether the body that a condition was answered by leaves it open that the bytes at hand are the object's.
    private func mayBeSame(_ isSame: Bool, _ head: ResponseHead) -> Bool {
        guard case .ifRange(let validator) = asked.condition else { return false }
        let length = length(head)
        if toleratesChange, length != nil, length == known?.length { return true }
        if agrees(head), length == nil || known?.length == nil || length == known?.length { return true }
        // Rule 34: servers whose If-Range knows dates only answer so, and serve the range without it.
        guard case .entityTag = validator else { return false }
        return isSame
    }

    /// Whether a part that is asked for without a condition may be proven by something else than its validator.
    private var mayProveItself: Bool { toleratesChange || requiresVerification && known?.digests != nil }

    /// Whether the head names the digest of the object whose bytes are at hand.
    private func agrees(_ head: ResponseHead) -> Bool { digests(head)?.agrees(with: known?.digests ?? []) ?? false }

    /// A page without validator where a file of another type and length was (rule 31).
    private func looksLikePortal(_ head: ResponseHead) -> Bool {
        guard let known, let type = contentType(head)?.lowercased() else { return false }
        return type.hasPrefix("text/html") && known.contentType?.lowercased().hasPrefix("text/html") != true
            && known.validator?.matches(head.headers, receivedAt: date) == .absent && length(head) != known.length
    }

    // MARK: 206

    private func decidePartial(_ head: ResponseHead, isComparison: Bool = false) -> ResponseDecision {
        guard let range = asked.range else {
            return .fail(.init(.malformedResponse, "a partial response to a request without Range"))
        }
        let types = head.headers.values(for: "Content-Type")
        if types.contains(where: { $0.lowercased().hasPrefix("multipart/byteranges") }) {
            return rangeFault("several parts in answer to one range")
        }
        guard case .satisfied(let positions, let completeLength)? = ContentRange(head.headers) else {
            return rangeFault("a partial response without a usable Content-Range")
        }
        if ContentCoding(head.headers) != nil {
            return received > 0 ? .retryRequest(.everything(.contentCodingChanged)) : .retryRequest(.unbounded)
        }
        if let last = range.last, positions.upperBound > last {
            return rangeFault("a partial response that goes beyond the range")
        }
        guard positions.lowerBound <= range.first, positions.upperBound >= range.first else {
            return rangeFault("a partial response at another offset")
        }
        switch ContentLength(head.headers) {
        case .invalid:
            return rangeFault("an unusable Content-Length")
        case .value(let bodyLength) where bodyLength != positions.upperBound - positions.lowerBound + 1:
            return rangeFault("Content-Length and Content-Range disagree")
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
        // Without a validator the next part could be of another representation.
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
            // The comparison itself is the proof.
            return .append(
                .init(skipped: asked.start - positions.lowerBound, end: positions.upperBound + 1, representation: known)
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
        // Rule 21: a part without a validator is proven by the condition that the request carried, or not at all.
        let isProven =
            agrees(head) || match == .same || match == .absent && !requiresVerification && asked.condition != .none
        guard isProven || toleratesChange && completeLength != nil && completeLength == known.length else {
            return .retryRequest(
                .everything(match == .absent && !requiresVerification ? .noValidator : .contentChanged))
        }
        if let length = known.length, positions.upperBound >= length {
            return rangeFault("a partial response beyond the end")
        }
        var continued = known
        continued.finalURL = url
        continued.length = known.length ?? completeLength
        continued.digests = known.digests ?? digests?.checksums
        if !isProven, known.unverifiedFrom == nil { continued.unverifiedFrom = asked.start }
        continued.cameFromDifferentURL = false
        continued.isImported = false
        // A digest proves it under whatever validator the object has there, which is the one to ask with from now on.
        if match == .different, isProven {
            if let validator = Validator.strong(in: head.headers, receivedAt: date) { continued.validator = validator }
            if let lastModified = lastModified(head) { continued.lastModified = lastModified }
        }
        return .append(
            .init(
                skipped: asked.start - positions.lowerBound, end: positions.upperBound + 1, representation: continued))
    }

    // MARK: Bytes to compare

    /// What `head` means in answer to a request for bytes that are there already, to be compared with them.
    package func decideComparison(_ head: ResponseHead) -> ComparisonDecision {
        guard head.status.code == 206 else {
            if head.status.code == 416 { return .otherwise(.retryRequest(.everything(.rangeNotSatisfiable))) }
            guard head.status.code == 200 || head.status.code == 203 else { return .otherwise(decide(head)) }
            // Rule 23: the whole body is no answer to a bounded range.
            let isSame = match(head) == .same
            return .otherwise(.retryRequest(.everything(isSame ? .rangeIgnored : .contentChanged)))
        }
        if let digests = digests(head), let recorded = known?.digests {
            if digests.contradicts(recorded) { return .otherwise(.retryRequest(.everything(.credentialsChanged))) }
            if digests.agrees(with: recorded) { return .proven }
        }
        switch decidePartial(head, isComparison: true) {
        case .append(let continuation): return .compare(skipped: continuation.skipped, end: continuation.end)
        case let decision: return .otherwise(decision)
        }
    }

    private func rangeFault(_ detail: String) -> ResponseDecision {
        .fail(.init(.malformedResponse, detail, isRetryable: true, blamesRange: true))
    }

    // MARK: 416

    private func decideUnsatisfiable(_ head: ResponseHead) -> ResponseDecision {
        guard asked.start > 0 else { return .retryRequest(.unbounded) }
        guard case .unsatisfied(let completeLength)? = ContentRange(head.headers) else {
            return .retryRequest(.everything(.rangeNotSatisfiable))
        }
        let match = match(head) ?? .absent
        // Where a condition was sent along, a server that got as far as the range has found the validator unchanged.
        guard completeLength == received, known?.length ?? completeLength == completeLength,
            match == .same || match == .absent && !requiresVerification && asked.condition != .none
        else { return .retryRequest(.everything(.contentChanged)) }
        return .complete(length: completeLength)
    }

    // MARK: Fields

    /// How the head's validator fields compare with those that are recorded; `nil` without a recorded validator.
    ///
    /// Where an entity tag is recorded and the head has one, the tags decide: the nodes of one server may differ in their
    /// dates. Where the head has no tag, a date that differs from the recorded one means another representation.
    private func match(_ head: ResponseHead) -> Validator.Match? {
        guard let known, let match = known.validator?.matches(head.headers, receivedAt: date) else { return nil }
        guard match == .absent, let recorded = known.lastModified else { return match }
        let isOther = Validator.compareDate(of: head.headers, with: recorded, receivedAt: date) == .different
        return isOther ? .different : match
    }

    /// The longest text of a descriptive field that is recorded, in bytes: a checkpoint repeats it with each save.
    private static let longestText = 1024

    private func recordable(_ text: String?) -> String? {
        text.flatMap { $0.utf8.count <= Self.longestText ? $0 : nil }
    }

    private func contentType(_ head: ResponseHead) -> String? { head.headers.values(for: "Content-Type").first }

    private func lastModified(_ head: ResponseHead) -> String? {
        recordable(head.headers.singleton("Last-Modified").value)
    }

    private func contentCoding(_ head: ResponseHead) -> String? {
        // The body is coded whether or not the names of its codings are kept.
        ContentCoding(head.headers).map { recordable($0.description) ?? "unknown" }
    }

    private func suggestedName(_ head: ResponseHead) -> String? {
        ContentDisposition(head.headers)?.suggestedFileName.flatMap(FileName.sanitised)
    }

    private func length(_ head: ResponseHead) -> Int64? {
        if decodes(head) { return nil }
        guard case .value(let length) = ContentLength(head.headers) else { return nil }
        return length
    }

    /// Whether the engine delivers something else than what the head speaks of.
    private func decodes(_ head: ResponseHead) -> Bool { decodesContent && ContentCoding(head.headers) != nil }

    /// The digests are over the coded bytes (RFC 9530, 3), which a decoding engine does not deliver.
    private func digests(_ head: ResponseHead) -> ReprDigest? { decodes(head) ? nil : ReprDigest(head.headers) }

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
