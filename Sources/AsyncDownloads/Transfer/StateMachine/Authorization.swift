internal import struct Foundation.URL

/// The secret headers that a subscriber supplies for the requests of one attempt.
///
/// They are needed before the first request of the attempt, and again after the first response with status 401.
struct Authorization: Sendable {
    /// The secret headers that a subscriber has supplied.
    struct Answer: Sendable, Hashable {
        var fields: HeaderFields = [:]
        /// The origins to which the fields may be sent, as determined by the request that has supplied them.
        var origins: Set<Origin> = []
    }

    private enum State: Sendable {
        /// The next request needs fields.
        case needed
        /// The server has refused the previous fields with status 401 and these challenges.
        case refused(challenges: [String])
        /// The requests of the attempt contain these fields.
        ///
        /// - Parameter isRenewed: Whether the fields have replaced refused ones, and only responses with status 401
        ///   have arrived since.
        case supplied(Answer, isRenewed: Bool)
    }

    private var state = State.needed
    private var attempt = 0

    /// The fields of the next request; nil if none have been supplied.
    var answer: Answer? { if case .supplied(let answer, _) = state { answer } else { nil } }

    /// Returns the request to a subscriber before `url` is requested; nil if the fields have been supplied.
    mutating func request(for url: URL) -> AuthorizationRequest? {
        switch state {
        case .needed:
            attempt += 1
            return AuthorizationRequest(url: url, attempt: attempt)
        case .refused(let challenges):
            return AuthorizationRequest(
                url: url, reason: .status(401), challenges: challenges, attempt: attempt)
        case .supplied:
            return nil
        }
    }

    /// Uses the fields that a subscriber has supplied.
    mutating func supply(_ answer: Answer) {
        if case .refused = state {
            state = .supplied(answer, isRenewed: true)
        } else {
            state = .supplied(answer, isRenewed: false)
        }
    }

    /// Handles a response with status 401, and returns whether a request with other fields may succeed.
    mutating func refuse(challenges: [String]) -> Bool {
        guard case .supplied(_, isRenewed: false) = state else { return false }
        state = .refused(challenges: challenges)
        return true
    }

    /// Records that the server has accepted a request, so that a later refusal doesn't count as a refusal of renewed
    /// fields.
    mutating func accepted() {
        if case .supplied(let answer, isRenewed: true) = state {
            state = .supplied(answer, isRenewed: false)
        }
    }

    /// Records that the attempt has ended.
    mutating func attemptEnded() {
        state = .needed
    }
}

/// The ranges to compare with the server's bytes before continuing bytes that may have been received with other
/// credentials.
///
/// These are the first and the last 64 KiB of each received range.
///
/// Every range is compared, because concurrent exchanges may have received each range separately.
///
/// Entity tags often identify a revision instead of a user's content, so an equal tag doesn't prove that the bytes
/// belong to the same user.
struct CredentialProof: Sendable, Hashable {
    /// The number of bytes to compare at each end.
    static let length: Int64 = 64 << 10

    /// The ranges that have not been compared, in ascending order.
    private var ranges: [Range<Int64>]

    /// - Parameter received: The bytes to be continued.
    init(_ received: IntervalSet) {
        ranges = received.ranges.flatMap { range in
            range.upperBound - range.lowerBound <= 2 * Self.length
                ? [range]
                : [
                    range.lowerBound..<range.lowerBound + Self.length,
                    range.upperBound - Self.length..<range.upperBound,
                ]
        }
    }

    /// The next range to compare; nil if all ranges were equal.
    var next: Range<Int64>? { ranges.first }

    /// Records that the bytes of the next range are equal up to `position`.
    mutating func advance(to position: Int64) {
        guard let first = ranges.first else { return }
        ranges.removeFirst()
        if position < first.upperBound { ranges.insert(max(position, first.lowerBound)..<first.upperBound, at: 0) }
    }
}
