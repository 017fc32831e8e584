/// What a response's head means for what was asked.
package enum ResponseDecision: Sendable, Hashable {
    /// The body continues the bytes at hand.
    case append(Continuation)
    /// The body is the representation from its first byte on; `restart` says why earlier bytes are given up, if any.
    case begin(Representation, end: Int64?, restart: RestartReason?)
    /// The bytes at hand are the whole representation; there is nothing to fetch.
    case complete(length: Int64)
    /// The body is of no use: ask again, differently.
    case retryRequest(Change)
    /// The representation is elsewhere (RFC 9110, 15.4).
    case redirect(location: String?)
    /// The exchange has failed.
    case fail(Failure)

    /// A body that fits the bytes at hand.
    package struct Continuation: Sendable, Hashable {
        /// Bytes at the body's beginning that are there already, where the server began earlier than asked.
        package var skipped: Int64
        /// One past the last byte that the body promises.
        package var end: Int64
        /// What the server says of the representation now.
        package var representation: Representation
    }

    /// What to ask for instead.
    package enum Change: Sendable, Hashable {
        /// Everything, giving up what is there for this reason.
        case everything(RestartReason)
        /// The rest in one piece: the server does not serve bounded ranges.
        case unbounded
        /// The same without a condition: the server may not understand it, or the digest decides (rules 34 and 35).
        case withoutCondition
    }

    /// Why an exchange failed.
    package struct Failure: Sendable, Hashable {
        package var code: DownloadError.Code
        package var detail: String
        package var isRetryable: Bool
        package var retryAfter: Duration?
        /// Whether the server's handling of ranges is at fault, so that asking for everything may help.
        package var blamesRange: Bool

        package init(
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

/// What a response's head means in answer to a request for bytes that are there already.
package enum ComparisonDecision: Sendable, Hashable {
    /// The body is to be compared, without its first `skipped` bytes and as far as `end`.
    case compare(skipped: Int64, end: Int64)
    /// The server's digest of the whole is the recorded one, so that no byte has to be compared.
    case proven
    /// The body is of no use for a comparison.
    case otherwise(ResponseDecision)
}
