extension OriginState {
    /// Whether requests are accepted.
    enum Condition: Sendable {
        /// Requests are accepted, as far as known.
        case open
        /// No request is sent before the end. If the time was assumed, a probe follows, which shows whether the origin
        /// accepts requests again. Continues with `open`.
        case coolingDown(end: Duration, CoolDownReason)
        /// A resource is refused until the end. A probe shows whether the origin accepts requests for other resources.
        /// Continues with `open` or `coolingDown`.
        case resourceRefused(end: Duration)
        /// No connection can be established, or each one is closed before a response. A probe shows when connections are
        /// possible again. Continues with `open`.
        case unreachable(Outage)
    }

    /// The reason for a cool-down.
    enum CoolDownReason: Sendable, Hashable {
        /// A refusal states the time.
        case stated
        /// The response that accepted the request with this number states the time.
        case announced(by: Int)
        /// Requests were refused or have failed, and no time was stated.
        case assumed
    }

    /// The only request that is sent at a time.
    enum Probe: Sendable, Hashable {
        /// The transfer with this ticket has a permit, but hasn't sent its request.
        case permitted(PermitQueue.Ticket)
        /// The request with this number hasn't been answered.
        case sent(Int)
    }

    /// The reason why the transfers of an origin are waiting, and its expected end.
    enum Hindrance: Sendable, Hashable {
        case coolDown(end: Duration)
        /// A cool-down of an assumed time, which isn't reported unless several follow one another.
        case shortCoolDown
        case outage(nextAttempt: Duration)
        case silence
    }

    /// The consequence of an answer.
    struct Consequence: Sendable {
        /// Whether the answer is a refusal that may concern the number of transfers.
        var isRefusal = false
        /// The next step of the transfer, if it couldn't connect, or if its request got no response.
        var step: Outage.Step?
        /// Whether a failure, or a refusal without a time, concerns the origin.
        var concernsOrigin = false
        /// The waiting transfers fail if their policies permit at most this number of retries.
        var failingRetryLimit = -1
        /// Whether the waiting transfers have to be notified of a hindrance.
        var notifiesWaiting = false
    }

    /// The circumstances of an answer.
    struct Context: Sendable {
        /// The time for which transfers wait for an unreachable origin that has answered before.
        var patience: Duration
        /// The number of the last request that was begun.
        var lastNumber: Int
        /// Whether a transfer is receiving from the origin.
        var isServing: Bool
        /// A random number from 0 to 1.
        var jitter: Double
        var now: Duration
    }
}
