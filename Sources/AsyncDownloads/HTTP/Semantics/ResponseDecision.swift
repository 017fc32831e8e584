/// The meaning of a response's head for the request that the response answers.
enum ResponseDecision: Sendable, Hashable {
    /// The body continues the received bytes.
    case append(Continuation)
    /// The body contains the representation from its first byte to `end`, or to an unknown position if `end` is nil.
    ///
    /// If received bytes are discarded, `restart` is the reason.
    case begin(Representation, end: Int64?, restart: RestartReason?)
    /// The received bytes are the whole representation.
    case complete(length: Int64)
    /// The files at the destinations are the whole representation.
    case unchanged
    /// The body can't be used; a changed request is sent.
    case retryRequest(Change)
    /// The representation is at another URL (RFC 9110, 15.4).
    case redirect(location: String?)
    /// The exchange has failed.
    case fail(Failure)

    /// A body that continues the received bytes.
    struct Continuation: Sendable, Hashable {
        /// The number of bytes to skip, because the server began at a position before the requested one.
        var skipped: Int64
        /// The position after the last byte that the head declares for the body.
        var end: Int64
        /// The representation, updated with the metadata in the head.
        var representation: Representation
    }

    /// The change of a request that is repeated.
    enum Change: Sendable, Hashable {
        /// The whole representation is requested, and the received bytes are discarded for this reason.
        case everything(RestartReason)
        /// All remaining bytes are requested in one exchange, because the server doesn't support bounded ranges.
        case unbounded
        /// The same range is requested without a condition.
        ///
        /// The server may not understand the condition (rule 34), or a digest proves the bytes instead (rule 35).
        case withoutCondition
    }

    /// The reason why an exchange failed.
    struct Failure: Sendable, Hashable {
        /// The code of the error.
        var code: DownloadError.Code
        /// Additional information for the error's description; may be empty.
        var detail: String
        /// Whether the same request may succeed later.
        var isRetryable: Bool
        /// The time that the server asks to wait before a retry.
        var retryAfter: Duration?
        /// Whether the server's handling of ranges caused the failure, so that a request without a range may succeed.
        var blamesRange: Bool

        init(
            _ code: DownloadError.Code, _ detail: String, isRetryable: Bool = false, retryAfter: Duration? = nil,
            blamesRange: Bool = false
        ) {
            self.code = code
            self.detail = detail
            self.isRetryable = isRetryable
            self.retryAfter = retryAfter
            self.blamesRange = blamesRange
        }
    }
}

/// The meaning of a response's head for a request that compares received bytes with the server's.
enum ComparisonDecision: Sendable, Hashable {
    /// The body is compared up to the position `end`, without its first `skipped` bytes.
    case compare(skipped: Int64, end: Int64)
    /// The server's digest of the whole representation equals the recorded one, so no byte has to be compared.
    case proven
    /// The body can't be used for a comparison.
    case otherwise(ResponseDecision)
}
