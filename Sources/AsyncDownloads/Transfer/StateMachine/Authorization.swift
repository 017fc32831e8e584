internal import struct Foundation.URL

/// The secret headers that a subscriber supplies for the requests of one attempt.
///
/// They are needed before the first request of the attempt, and again after the first response with 401.
struct Authorization: Sendable {
    /// What a subscriber has supplied.
    struct Answer: Sendable, Hashable {
        var fields: HeaderFields = [:]
        /// The origins to which the fields may be sent: those of the request that has supplied them.
        var origins: Set<Origin> = []
    }

    private enum State: Sendable {
        /// The next request needs fields.
        case needed
        /// The server has refused the fields before with 401 and these challenges.
        case refused(challenges: [String])
        /// The requests of the attempt contain these fields.
        ///
        /// - Parameter isRenewed: Whether no response but 401 has arrived since they replaced refused ones.
        case supplied(Answer, isRenewed: Bool)
    }

    private var state = State.needed
    private var attempt = 0

    /// The fields of the next request; nil if there are none yet.
    var answer: Answer? { if case .supplied(let answer, _) = state { answer } else { nil } }

    /// Returns what a subscriber is to be asked before `url` is requested; nil if the fields are there.
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

    /// Uses what a subscriber has supplied.
    mutating func supply(_ answer: Answer) {
        if case .refused = state {
            state = .supplied(answer, isRenewed: true)
        } else {
            state = .supplied(answer, isRenewed: false)
        }
    }

    /// Handles a response with 401, and returns whether other fields are worth a request.
    mutating func refuse(challenges: [String]) -> Bool {
        guard case .supplied(_, isRenewed: false) = state else { return false }
        state = .refused(challenges: challenges)
        return true
    }

    /// Records that the server has accepted a request, so that a later refusal is not that of renewed fields.
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
