/// Whether and when requests may be sent to an origin: cool-downs, and the time in which it can't be reached.
///
/// The state belongs to an ``OriginPair``. While it is uncertain whether the origin accepts requests, one request at a time
/// is sent, which is called the probe here.
struct OriginState: Sendable {
    private enum Condition: Sendable {
        /// Requests are accepted, as far as is known.
        case open
        /// No request is sent before the end. It is announced if the origin has accepted the request whose response
        /// states it.
        case coolingDown(end: Duration, isAnnounced: Bool)
        /// A resource is refused until the end. A probe shows whether others are accepted. Continues with `open` or
        /// `coolingDown`.
        case doubtful(end: Duration)
        /// No connection can be established. A probe shows when that is possible again. Continues with `open`.
        case unreachable(Outage)
    }

    private enum Probe: Sendable, Hashable {
        /// The transfer with this ticket has a permit, and hasn't sent its request.
        case permitted(PermitQueue.Ticket)
        /// The request with this number isn't answered.
        case sent(Int)
    }

    /// When a request may be sent.
    enum Availability: Sendable, Hashable {
        case now
        case at(Duration)
        /// When another request is answered, or isn't sent.
        case later
    }

    /// The reason why the transfers of an origin wait, and its end as far as it is known.
    enum Hindrance: Sendable, Hashable {
        case coolDown(end: Duration)
        case outage(nextAttempt: Duration)

        /// Returns whether transfers wait long enough to report it.
        func lasts(at now: Duration) -> Bool {
            switch self {
            case .coolDown(let end), .outage(let end): end - now >= .seconds(1)
            }
        }
    }

    /// What follows from an answer.
    struct Consequence: Sendable {
        /// Whether the host's limits count the answer as a refusal.
        var isRefusal = false
        /// What follows for the transfer, if it couldn't connect.
        var step: Outage.Step?
        /// The transfers that wait fail if they permit at most this number of retries.
        var failingRetryLimit = -1
    }

    private var condition = Condition.open
    private var probe: Probe?
    /// The resources that are refused, with the ends of the times for which they are.
    private var refusedResources: [ResourceID: Duration] = [:]
    private static let mostRefusedResources = 64
    /// Whether the origin has sent a response.
    private(set) var hasAnswered: Bool
    /// Whether announcements are ignored, because a request was accepted during an announced cool-down.
    private var ignoresAnnouncements = false

    init(hasAnswered: Bool) {
        self.hasAnswered = hasAnswered
    }

    /// Returns whether the value has to be kept while no transfer uses the origin.
    func isWorthKeeping(at now: Duration) -> Bool {
        ignoresAnnouncements || delaysRequests(at: now)
    }

    /// Returns whether requests have to wait, or some of them.
    func delaysRequests(at now: Duration) -> Bool {
        if refusedResources.contains(where: { now < $0.value }) { return true }
        return switch condition {
        case .open: false
        case .coolingDown(let end, _), .doubtful(let end): now < end
        case .unreachable: true
        }
    }

    /// Returns when a request may be sent.
    ///
    /// - Parameter hasImpatient: Whether a transfer waits that retries nothing, and therefore doesn't wait for the time of
    ///   the next attempt.
    func availability(hasImpatient: Bool, at now: Duration) -> Availability {
        switch condition {
        case .open: .now
        case .coolingDown(let end, _): now < end ? .at(end) : .now
        case .doubtful(let end): now < end && probe != nil ? .at(end) : .now
        case .unreachable(let outage):
            if probe != nil {
                .later
            } else if hasImpatient || now >= outage.attemptTime {
                .now
            } else {
                .at(outage.attemptTime)
            }
        }
    }

    /// Returns the time until which a resource is refused; nil if it isn't.
    func refusalEnd(of resource: @autoclosure () -> ResourceID?, at now: Duration) -> Duration? {
        // Most origins refuse none.
        guard !refusedResources.isEmpty, let resource = resource(), let end = refusedResources[resource] else {
            return nil
        }
        return now < end ? end : nil
    }

    /// Returns the reason why transfers wait; nil if there is none.
    func hindrance(at now: Duration) -> Hindrance? {
        switch condition {
        case .coolingDown(let end, _) where now < end: .coolDown(end: end)
        case .unreachable(let outage) where now < outage.attemptTime || probe != nil:
            .outage(nextAttempt: max(now, outage.attemptTime))
        case .unreachable: nil
        case .open, .coolingDown, .doubtful: nil
        }
    }

    /// Whether only one request is sent at a time.
    private func needsProbe(at now: Duration) -> Bool {
        switch condition {
        case .open, .coolingDown: false
        case .doubtful(let end): now < end
        case .unreachable: true
        }
    }
}

// MARK: - Requests

extension OriginState {
    /// Records that a transfer has a permit whose request will be sent soon.
    mutating func permitted(_ ticket: PermitQueue.Ticket, at now: Duration) {
        renewOutage(at: now)
        if needsProbe(at: now), probe == nil { probe = .permitted(ticket) }
    }

    /// Records that a permitted request isn't sent, and returns whether it was the probe.
    mutating func withdrawn(_ ticket: PermitQueue.Ticket) -> Bool {
        guard probe == .permitted(ticket) else { return false }
        probe = nil
        return true
    }

    /// Returns whether the request of a permit may be sent.
    func mayBegin(_ ticket: PermitQueue.Ticket, at now: Duration) -> Bool {
        probe == .permitted(ticket) || availability(hasImpatient: false, at: now) == .now
    }

    /// Returns whether an extra request may be sent, which is never the probe.
    func mayBeginExtra(at now: Duration) -> Bool {
        !needsProbe(at: now) && availability(hasImpatient: false, at: now) == .now
    }

    /// Records that a request is sent.
    ///
    /// - Parameter ticket: The permit; nil for an extra request.
    mutating func began(_ number: Int, _ ticket: PermitQueue.Ticket?, at now: Duration) {
        renewOutage(at: now)
        guard let ticket else { return }
        if probe == .permitted(ticket) { probe = nil }
        if needsProbe(at: now), probe == nil { probe = .sent(number) }
    }

    /// Begins another outage if the transfers of the present one have failed some time before this request.
    private mutating func renewOutage(at now: Duration) {
        guard case .unreachable(let outage) = condition, outage.isPast(at: now) else { return }
        condition = .unreachable(Outage(at: now))
    }

    /// The circumstances of an answer.
    struct Context: Sendable {
        /// For how long transfers wait for an origin that can't be reached, and has answered before.
        var patience: Duration
        /// The number of the last request that was sent to the host.
        var lastNumber: Int
        /// Whether a transfer receives from the origin.
        var isServing: Bool
        /// A random number from 0 to 1.
        var jitter: Double
        var now: Duration
    }

    /// Records the answer to a request, once.
    mutating func answered(_ number: Int, _ answer: RequestAnswer, _ context: Context) -> Consequence {
        let wasProbe = probe == .sent(number)
        if wasProbe { probe = nil }
        switch answer {
        case .nothing: return Consequence()
        case .lost:
            // A connection of the time before says nothing about the present.
            if case .unreachable(let outage) = condition, !wasProbe, outage.isLate(number) { break }
            reached()
        case .unanswered(let policy):
            if case .unreachable = condition {
                return unreachable(number, policy, wasProbe: wasProbe, context)
            }
        case .failed:
            hasAnswered = true
            reached()
        case .accepted(let quota):
            hasAnswered = true
            accepted(quota, wasProbe: wasProbe, at: context.now)
        case .refused(let retryAfter, let resource):
            hasAnswered = true
            reached()
            return refused(retryAfter, of: resource, wasProbe: wasProbe, at: context.now)
        case .unreachable(_, let policy):
            return unreachable(number, policy, wasProbe: wasProbe, context)
        }
        return Consequence()
    }

    /// Records that a connection was established.
    private mutating func reached() {
        if case .unreachable = condition { (condition, probe) = (.open, nil) }
    }

    private mutating func accepted(_ quota: RateLimit.Quota?, wasProbe: Bool, at now: Duration) {
        switch condition {
        case .coolingDown(let end, isAnnounced: true) where now < end:
            // Responses overtake each other: what a request has left was counted before.
            if quota != .available { (condition, ignoresAnnouncements) = (.open, true) }
            return
        case .coolingDown(let end, _) where now < end: return
        case .doubtful(let end) where now < end && !wasProbe: return
        case .open, .coolingDown, .doubtful, .unreachable: (condition, probe) = (.open, nil)
        }
        if case .exhausted(let time) = quota, !ignoresAnnouncements, time > .zero {
            condition = .coolingDown(end: now + time, isAnnounced: true)
        }
    }

    private mutating func refused(
        _ retryAfter: Duration?, of resource: ResourceID?, wasProbe: Bool, at now: Duration
    ) -> Consequence {
        var (end, hasDoubt) = (now + (retryAfter ?? .zero), false)
        if let resource, end > now { refuse(resource, until: end, at: now) }
        switch condition {
        case .coolingDown(let present, _) where now < present: end = max(end, present)
        case .doubtful(let present) where now < present:
            // The time of one resource isn't that of the origin, unless others are refused as well.
            if resource != nil || wasProbe { end = max(end, present) }
            hasDoubt = resource != nil && !wasProbe
        case .open, .coolingDown, .doubtful, .unreachable:
            hasDoubt = resource != nil && end > now
        }
        if hasDoubt {
            condition = .doubtful(end: end)
            return Consequence()
        }
        (condition, probe) = (end > now ? .coolingDown(end: end, isAnnounced: false) : .open, nil)
        return Consequence(isRefusal: true)
    }

    private mutating func refuse(_ resource: ResourceID, until end: Duration, at now: Duration) {
        if refusedResources.count >= Self.mostRefusedResources {
            refusedResources = refusedResources.filter { now < $0.value }
        }
        if refusedResources.count < Self.mostRefusedResources || refusedResources[resource] != nil {
            refusedResources[resource] = end
        }
    }

    private mutating func unreachable(
        _ number: Int, _ policy: RetryPolicy, wasProbe: Bool, _ context: Context
    ) -> Consequence {
        if case .coolingDown(let end, _) = condition, context.now < end {
            return Consequence(step: policy.maximumRetries > 0 ? .retry(number: 1, delay: end - context.now) : .end)
        }
        var outage = Outage(at: context.now)
        var isLate = false
        if case .unreachable(let present) = condition {
            (outage, isLate) = (present, !wasProbe && present.isLate(number))
        }
        if !isLate { outage.failed(policy, context, hasAnswered: hasAnswered) }
        condition = .unreachable(outage)
        return Consequence(
            step: outage.step(retryLimit: policy.maximumRetries, context, hasAnswered: hasAnswered),
            failingRetryLimit: hasAnswered ? (outage.hasLasted(context) ? .max : 0) : outage.failureCount - 1)
    }
}
