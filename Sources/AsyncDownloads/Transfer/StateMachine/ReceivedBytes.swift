/// The bytes that a transfer has on disk: of which representation, which ones, and what still has to verify them.
struct ReceivedBytes: Sendable {
    /// The representation that the server described; nil before the first response and after a restart.
    private(set) var representation: Representation?
    /// The bytes of ``representation`` that are on disk.
    private(set) var intervals = IntervalSet()
    /// The secret headers with which the first bytes were received, or with which the server has proven the bytes.
    ///
    /// With an account or a checksum, bytes that were received with other ones may follow.
    private(set) var credentials: HeaderFields
    /// Whether the partial file holds bytes, of any representation.
    private(set) var isPartialFilled = false
    /// The comparison that has to succeed before bytes are continued that were received with other credentials.
    private(set) var comparison: CredentialProof?
    /// Whether the expected checksum verifies such bytes instead, after the last byte has arrived.
    private(set) var reliesOnChecksum = false
    /// Whether the digest has shown that bytes under several validators are not of one object.
    private(set) var hasDigestMismatch = false
    /// The `ETag` field of the response that began the representation; nil without one, and after a restart.
    private(set) var entityTag: String?
    /// The heads of the responses that led to the representation: those of redirects, and that with the first bytes of this
    /// process; empty before.
    private(set) var responses: [ResponseHead] = []
    /// Whether several responses were combined that could not prove that they are of one object.
    private(set) var combinesUnverified = false
    /// Whether such a combination was discarded before it was complete.
    private(set) var hasDiscardedCombination = false
    /// Whether an imported file is to be removed when a server has confirmed its bytes.
    private var awaitsImportConfirmation = false
    /// How often bytes were removed while others were kept, so that a mark shows which bytes it knows of.
    private(set) var epoch = 0

    /// Creates the record of a transfer without bytes, which looks for those that were received with these headers.
    init(credentials: HeaderFields = [:]) {
        self.credentials = credentials
    }

    /// The number of bytes.
    var count: Int64 { intervals.count }

    /// Whether every byte of a known length has arrived.
    var isComplete: Bool { representation?.length.map(intervals.isComplete(below:)) ?? false }

    /// Whether an interruption now would lose no byte.
    var isResumable: Bool { representation?.isProvable ?? false }

    /// Whether a server must confirm the bytes, because they came from another URL or were imported.
    var needsConfirmation: Bool {
        guard let representation else { return false }
        return representation.cameFromDifferentURL || representation.isImported
    }

    /// Whether bytes are kept only because the expected digest decides at the end.
    var reliesOnDigest: Bool { representation?.unverifiedFrom != nil || reliesOnChecksum || combinesUnverified }

    /// Whether a wrong digest leads to a restart; it does once.
    var mayRestartUnverified: Bool { reliesOnDigest && !hasDigestMismatch }
}

// MARK: - What was found

extension ReceivedBytes {
    /// Records what was found on disk.
    ///
    /// - Parameter isChecksumExpected: Whether a checksum verifies the whole file, so that no server has to.
    mutating func found(_ representation: Representation, _ intervals: IntervalSet, isChecksumExpected: Bool) {
        self.representation = representation
        self.intervals = intervals
        startCredentialProof(isChecksumExpected: isChecksumExpected)
        withholdUnverifiedEnd(isChecksumExpected: isChecksumExpected)
    }

    /// Records that the partial file holds the bytes.
    mutating func partialOpened() {
        isPartialFilled = true
    }

    /// Records that nothing usable was found.
    mutating func foundNothing() {
        representation = nil
        intervals = IntervalSet()
        (comparison, reliesOnChecksum) = (nil, false)
    }

    /// Records what closing the partial file has kept, which may be more than a restart had left or less than was
    /// written.
    mutating func kept(_ intervals: IntervalSet) {
        self.intervals = intervals
    }

    /// Withholds the last byte of a complete body that a server has to confirm, so that it is requested again.
    private mutating func withholdUnverifiedEnd(isChecksumExpected: Bool) {
        guard let representation, needsConfirmation else { return }
        // An expected checksum verifies imported bytes as well as a server does.
        if !representation.cameFromDifferentURL, isChecksumExpected { return }
        guard let length = representation.length, length > 0, isComplete else { return }
        intervals.truncate(to: length - 1)
    }
}

// MARK: - Credentials

extension ReceivedBytes {
    private mutating func startCredentialProof(isChecksumExpected: Bool) {
        (comparison, reliesOnChecksum) = (nil, false)
        guard representation?.hasUnverifiedCredentials == true else { return }
        if isChecksumExpected {
            reliesOnChecksum = true
        } else {
            comparison = CredentialProof(intervals)
        }
    }

    /// Requires a comparison, because other credentials are sent from now on than those with which the bytes were
    /// received.
    mutating func credentialsChanged(isChecksumExpected: Bool) {
        guard !intervals.isEmpty else { return }
        representation?.hasUnverifiedCredentials = true
        startCredentialProof(isChecksumExpected: isChecksumExpected)
    }

    /// Records that the bytes before `position` are equal to those that the present credentials get.
    ///
    /// - Returns: Whether nothing is left to compare.
    mutating func compared(to position: Int64) -> Bool {
        comparison?.advance(to: position)
        return comparison?.next == nil
    }

    /// Records that the present credentials get the same bytes.
    mutating func credentialsVerified(_ credentials: HeaderFields) {
        self.credentials = credentials
        comparison = nil
        representation?.hasUnverifiedCredentials = false
    }
}

// MARK: - What arrives

extension ReceivedBytes {
    /// Continues the bytes with what the server says of the same object now.
    ///
    /// - Parameter responses: The responses that led to the continuation.
    mutating func continued(as representation: Representation, responses: @autoclosure () -> [ResponseHead] = []) {
        self.representation = representation
        if self.responses.isEmpty { self.responses = responses() }
    }

    /// Starts another representation, of which no byte has arrived.
    ///
    /// - Parameter responses: The responses that led to the representation.
    mutating func started(
        _ representation: Representation, credentials: HeaderFields, responses: [ResponseHead] = []
    ) {
        self.representation = representation
        self.credentials = credentials
        self.responses = responses
    }

    /// Records that the partial file was emptied for the representation.
    mutating func partialEmptied() {
        isPartialFilled = false
        // No response confirms imported bytes any more.
        awaitsImportConfirmation = false
    }

    /// Records bytes that were written.
    ///
    /// - Parameter counts: Whether they count; after a failed write they would leave a gap.
    mutating func wrote(_ range: Range<Int64>, counts: Bool) {
        if counts { intervals.insert(range) }
        isPartialFilled = true
        // The last writes of the exchanges that the change of credentials has canceled; nothing is compared yet.
        if counts, comparison != nil { comparison = CredentialProof(intervals) }
    }

    /// Records the entity tag of the response that has begun the representation.
    mutating func began(entityTag: String?) {
        self.entityTag = entityTag
    }

    /// Records that a part was accepted which only has the same weak validator, or none.
    mutating func combinedUnverified() {
        combinesUnverified = true
    }

    /// Records that the bytes are discarded because the rest of them can't be requested.
    mutating func combiningFailed() {
        if combinesUnverified { hasDiscardedCombination = true }
    }

    /// Records the length of the object.
    mutating func settleLength(_ length: Int64) {
        representation?.length = length
    }

    /// Requires that an imported file is removed when a server has confirmed its bytes.
    mutating func awaitImportConfirmation() {
        awaitsImportConfirmation = true
    }

    /// Records that a server has confirmed imported bytes, and returns whether to remove the file with them.
    mutating func confirmImport() -> Bool {
        defer { awaitsImportConfirmation = false }
        representation?.isImported = false
        return awaitsImportConfirmation
    }

    /// Discards the bytes, and returns how many there were.
    ///
    /// The partial file keeps them until the next representation starts.
    mutating func discard() -> Int64 {
        defer { intervals = IntervalSet() }
        representation = nil
        (comparison, reliesOnChecksum) = (nil, false)
        (entityTag, combinesUnverified) = (nil, false)
        responses = []
        return intervals.count
    }

    /// Discards the bytes from `start` on, and returns how many there were.
    mutating func rollBack(to start: Int64) -> Int64 {
        let before = intervals.count
        intervals.truncate(to: start)
        rolledBack()
        return before - intervals.count
    }

    /// Discards some of the bytes, and returns how many of them there were.
    mutating func rollBack(_ range: IntervalSet) -> Int64 {
        let before = intervals.count
        intervals.subtract(range)
        rolledBack()
        return before - intervals.count
    }

    private mutating func rolledBack() {
        epoch += 1
        // What is left is compared: parts of the ranges before may be gone.
        if comparison != nil { comparison = intervals.isEmpty ? nil : CredentialProof(intervals) }
    }

    /// Forgets the representation where no byte of it is left.
    mutating func forgetEmptyRepresentation() {
        if intervals.isEmpty { representation = nil }
    }

    /// The bytes from the returned position on have no verification any more, since no checksum is expected; nil
    /// without such.
    mutating func takeUnverifiedStart() -> Int64? {
        defer { representation?.unverifiedFrom = nil }
        return representation?.unverifiedFrom
    }

    /// Records that the digest has refuted bytes under several validators.
    mutating func digestMismatched() {
        hasDigestMismatch = true
    }
}
