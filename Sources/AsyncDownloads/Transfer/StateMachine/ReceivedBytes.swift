/// The bytes that a transfer has on disk, their representation, and how they still have to be verified.
struct ReceivedBytes: Sendable {
    /// The representation that the server described; nil before the first response and after a restart.
    private(set) var representation: Representation?
    /// The bytes of ``representation`` that are on disk.
    private(set) var intervals = IntervalSet()
    /// The secret headers with which the first bytes were received, or with which the bytes were last verified.
    ///
    /// With an account or a checksum, later bytes may have been received with other secret headers.
    private(set) var credentials: HeaderFields
    /// Whether the partial file contains bytes of any representation.
    private(set) var isPartialFilled = false
    /// The comparison that must succeed before bytes that were received with other credentials are continued.
    private(set) var comparison: CredentialProof?
    /// Whether the expected checksum verifies such bytes instead, after the last byte has arrived.
    private(set) var reliesOnChecksum = false
    /// Whether the digest has shown that bytes with different validators belong to different objects.
    private(set) var hasDigestMismatch = false
    /// The `ETag` field of the response that started the representation; nil without one, and after a restart.
    private(set) var entityTag: String?
    /// The heads of the redirects that led to the representation, and of the response with the first bytes in this
    /// process; empty before that response.
    private(set) var responses: [ResponseHead] = []
    /// Whether responses were combined without proof that they belong to the same object.
    private(set) var combinesUnverified = false
    /// Whether such a combination was discarded before it was complete.
    private(set) var hasDiscardedCombination = false
    /// Whether an imported file is to be removed when a server has confirmed its bytes.
    private var awaitsImportConfirmation = false
    /// The number of times that some bytes were removed and others kept; it shows to which bytes a mark refers.
    private(set) var epoch = 0

    /// Creates the record of a transfer without bytes, for bytes that were received with these headers.
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

    /// Whether bytes are kept although only the expected digest can verify them at the end.
    var reliesOnDigest: Bool { representation?.unverifiedFrom != nil || reliesOnChecksum || combinesUnverified }

    /// Whether a wrong digest leads to a restart, which happens only once.
    var mayRestartUnverified: Bool { reliesOnDigest && !hasDigestMismatch }
}

// MARK: - Bytes on disk

extension ReceivedBytes {
    /// Records what was found on disk.
    ///
    /// - Parameter isChecksumExpected: Whether a checksum verifies the whole file, so that no server has to confirm it.
    mutating func found(_ representation: Representation, _ intervals: IntervalSet, isChecksumExpected: Bool) {
        self.representation = representation
        self.intervals = intervals
        startCredentialProof(isChecksumExpected: isChecksumExpected)
        withholdUnverifiedEnd(isChecksumExpected: isChecksumExpected)
    }

    /// Records that the partial file contains the bytes.
    mutating func partialOpened() {
        isPartialFilled = true
    }

    /// Records that no usable bytes were found.
    mutating func foundNothing() {
        representation = nil
        intervals = IntervalSet()
        (comparison, reliesOnChecksum) = (nil, false)
    }

    /// Records the bytes that were kept when the partial file was closed.
    ///
    /// They may be more than a restart has left, or fewer than were written.
    mutating func kept(_ intervals: IntervalSet) {
        self.intervals = intervals
    }

    /// Removes the last byte of a complete body that a server has to confirm, so that it is requested again.
    private mutating func withholdUnverifiedEnd(isChecksumExpected: Bool) {
        guard let representation, needsConfirmation else { return }
        // An expected checksum verifies imported bytes as well as a server's confirmation.
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

    /// Requires a comparison, because the credentials have changed since the bytes were received.
    mutating func credentialsChanged(isChecksumExpected: Bool) {
        guard !intervals.isEmpty else { return }
        representation?.hasUnverifiedCredentials = true
        startCredentialProof(isChecksumExpected: isChecksumExpected)
    }

    /// Records that the bytes before `position` are equal to the bytes that the server sends for the present
    /// credentials.
    ///
    /// - Returns: Whether the comparison is complete.
    mutating func compared(to position: Int64) -> Bool {
        comparison?.advance(to: position)
        return comparison?.next == nil
    }

    /// Records that the server sends the same bytes for the present credentials.
    mutating func credentialsVerified(_ credentials: HeaderFields) {
        self.credentials = credentials
        comparison = nil
        representation?.hasUnverifiedCredentials = false
    }
}

// MARK: - Changes

extension ReceivedBytes {
    /// Continues the bytes with the server's present description of the same object.
    ///
    /// - Parameter responses: The responses that led to the continuation.
    mutating func continued(as representation: Representation, responses: @autoclosure () -> [ResponseHead] = []) {
        self.representation = representation
        if self.responses.isEmpty { self.responses = responses() }
    }

    /// Starts another representation, for which no bytes have arrived.
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
        // Imported bytes were removed, so no response can confirm them anymore.
        awaitsImportConfirmation = false
    }

    /// Records bytes that were written.
    ///
    /// - Parameter counts: Whether the bytes count; after a failed write, they would leave a gap.
    mutating func wrote(_ range: Range<Int64>, counts: Bool) {
        if counts { intervals.insert(range) }
        isPartialFilled = true
        // These are the last writes of exchanges that were canceled by a change of credentials; no comparison has
        // started yet.
        if counts, comparison != nil { comparison = CredentialProof(intervals) }
    }

    /// Records the entity tag of the response that has started the representation.
    mutating func began(entityTag: String?) {
        self.entityTag = entityTag
    }

    /// Records that a part with only a matching weak validator, or with no validator, was accepted.
    mutating func combinedUnverified() {
        combinesUnverified = true
    }

    /// Records that the bytes are being discarded because the missing bytes can't be requested.
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

    /// Records that a server has confirmed imported bytes, and returns whether to remove the imported file.
    mutating func confirmImport() -> Bool {
        defer { awaitsImportConfirmation = false }
        representation?.isImported = false
        return awaitsImportConfirmation
    }

    /// Discards the bytes, and returns their number.
    ///
    /// The partial file contains them until the next representation starts.
    mutating func discard() -> Int64 {
        defer { intervals = IntervalSet() }
        representation = nil
        (comparison, reliesOnChecksum) = (nil, false)
        (entityTag, combinesUnverified) = (nil, false)
        responses = []
        return intervals.count
    }

    /// Discards the bytes from `start` on, and returns their number.
    mutating func rollBack(to start: Int64) -> Int64 {
        let before = intervals.count
        intervals.truncate(to: start)
        rolledBack()
        return before - intervals.count
    }

    /// Discards the bytes in `range`, and returns their number.
    mutating func rollBack(_ range: IntervalSet) -> Int64 {
        let before = intervals.count
        intervals.subtract(range)
        rolledBack()
        return before - intervals.count
    }

    private mutating func rolledBack() {
        epoch += 1
        // The remaining ranges are compared, because parts of the previous ranges may be gone.
        if comparison != nil { comparison = intervals.isEmpty ? nil : CredentialProof(intervals) }
    }

    /// Removes the representation if no byte of it is left.
    mutating func forgetEmptyRepresentation() {
        if intervals.isEmpty { representation = nil }
    }

    /// Returns the position from which bytes can't be verified anymore, because no checksum is expected; nil if all
    /// bytes can.
    mutating func takeUnverifiedStart() -> Int64? {
        defer { representation?.unverifiedFrom = nil }
        return representation?.unverifiedFrom
    }

    /// Records that the digest has refuted bytes with different validators.
    mutating func digestMismatched() {
        hasDigestMismatch = true
    }
}
