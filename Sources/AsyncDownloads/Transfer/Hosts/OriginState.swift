/// Whether and when requests may be sent to an origin: its cool-downs, its outages, and its pace.
///
/// The state belongs to an ``OriginPair``. While it is uncertain whether the origin accepts requests, only one request
/// at a time is sent, called the *probe*.
struct OriginState: Sendable {
    private var condition = Condition.open
    private var probe: Probe?
    /// The time after which requests no longer wait for the probe.
    ///
    /// The disk may hang before the probe is sent, or the server may not respond.
    private var probeEnd = Duration.zero
    private static let longestProbe = Duration.seconds(60)
    private(set) var refusedResources = RefusedResources()
    private var refusals: OriginRefusals
    /// The number of closed connections since the last response, and the number that counts as an outage.
    private var resetCount = 0
    private static let mostResets = 8
    /// Whether the origin has sent a response.
    private(set) var hasAnswered: Bool
    /// Whether announcements are ignored, because a request was accepted during an announced cool-down.
    private var ignoresAnnouncements = false
    var pace = OriginPace()
    var silence = OriginSilence()

    init(hasAnswered: Bool) {
        self.hasAnswered = hasAnswered
        refusals = OriginRefusals(hasAccepted: hasAnswered)
    }

    /// Returns whether the value has to be kept while no transfer uses the origin.
    func isWorthKeeping(at now: Duration) -> Bool {
        if silence.isPresent || ignoresAnnouncements || pace.learned != nil || delaysRequests(at: now) { return true }
        if case .unreachable = condition { return true }
        return false
    }

    /// The value to keep while no transfer uses the origin.
    var trimmed: Self {
        var value = self
        (value.pace, value.refusals) = (pace.trimmed, OriginRefusals(hasAccepted: hasAnswered))
        return value
    }

    /// Returns whether all or some requests have to wait.
    func delaysRequests(at now: Duration) -> Bool {
        if refusedResources.isAnyRefused(at: now) { return true }
        return switch condition {
        case .open: false
        case .coolingDown(let end, _), .doubtful(let end): now < end
        case .unreachable(let outage): !outage.isPast(at: now)
        }
    }

    /// Returns the time before which no request may be sent, unless another one is answered; nil if one may be sent
    /// now.
    ///
    /// - Parameter hasImpatient: Whether a waiting transfer permits no retry, and therefore doesn't wait for the time
    ///   of the next attempt.
    func nextTime(hasImpatient: Bool, at now: Duration) -> Duration? {
        let paceTime = pace.nextTime(at: now)
        guard let time = conditionTime(hasImpatient: hasImpatient, at: now) else { return paceTime }
        return max(time, paceTime ?? time)
    }

    private func conditionTime(hasImpatient: Bool, at now: Duration) -> Duration? {
        let probeEnd = probe == nil ? now : probeEnd
        let time: Duration =
            switch condition {
            case .open: now
            case .coolingDown(let end, .assumed): max(end, probeEnd)
            case .coolingDown(let end, _): end
            case .doubtful(let end): min(end, probeEnd)
            case .unreachable(let outage): max(probeEnd, hasImpatient ? now : outage.attemptTime)
            }
        return time > now ? time : nil
    }

    /// Returns the reason why transfers are waiting; nil if there is none.
    func hindrance(at now: Duration) -> Hindrance? {
        switch condition {
        case .coolingDown(let end, let reason) where now < end || reason == .assumed && probe != nil:
            .coolDown(end: max(now, end))
        case .unreachable(let outage) where now < outage.attemptTime || probe != nil:
            .outage(nextAttempt: max(now, outage.attemptTime))
        case .open, .coolingDown, .doubtful, .unreachable: silence.isPresent ? .silence : nil
        }
    }

    /// Returns whether only one request is sent at a time.
    private func needsProbe(at now: Duration) -> Bool {
        switch condition {
        case .coolingDown(_, .assumed), .unreachable: true
        case .open, .coolingDown: false
        case .doubtful(let end): now < end
        }
    }
}

// MARK: - Requests

extension OriginState {
    /// Records that a transfer has received a permit, and will soon send its request.
    mutating func permitted(_ ticket: PermitQueue.Ticket, at now: Duration) {
        if needsProbe(at: now), probe == nil || now >= probeEnd { setProbe(.permitted(ticket), at: now) }
    }

    /// Records that a permitted request will not be sent, and returns whether it was the probe.
    mutating func withdrawn(_ ticket: PermitQueue.Ticket) -> Bool {
        guard probe == .permitted(ticket) else { return false }
        probe = nil
        return true
    }

    /// Returns whether the request of a permit may be sent.
    func mayBegin(_ ticket: PermitQueue.Ticket, at now: Duration) -> Bool {
        probe == .permitted(ticket) || conditionTime(hasImpatient: false, at: now) == nil
    }

    /// Returns whether an extra request may be sent; an extra request is never the probe.
    func mayBeginExtra(at now: Duration) -> Bool {
        !needsProbe(at: now) && conditionTime(hasImpatient: false, at: now) == nil
    }

    /// Records that a reserved request is being sent.
    ///
    /// - Parameter ticket: The permit; nil for an extra request.
    mutating func began(_ number: Int, _ ticket: PermitQueue.Ticket?, at now: Duration) {
        guard let ticket else { return }
        silence.began(at: now)
        if probe == .permitted(ticket) { probe = nil }
        if needsProbe(at: now), probe == nil || now >= probeEnd { setProbe(.sent(number), at: now) }
    }

    private mutating func setProbe(_ new: Probe, at now: Duration) {
        (probe, probeEnd) = (new, now + Self.longestProbe)
    }

    /// Starts a new outage if no transfer has been waiting for the end of the present one.
    mutating func renewOutage(at now: Duration) {
        guard case .unreachable(let outage) = condition, outage.isPast(at: now) else { return }
        condition = .unreachable(Outage(at: now))
    }

    /// Records the answer to a request; called once for each request.
    ///
    /// - Parameter isExtra: Whether the request had no permit.
    mutating func answered(
        _ number: Int, _ answer: RequestAnswer, isExtra: Bool = false, _ context: Context
    ) -> Consequence {
        pace.ended()
        silence.ended(isAwaited: !isExtra, isResponse: answer.isResponse, at: context.now)
        let wasProbe = probe == .sent(number)
        if wasProbe { probe = nil }
        // A connection that was established before the outage says nothing about the present.
        var isLate = false
        if case .unreachable(let outage) = condition { isLate = !wasProbe && outage.isLate(number) }
        resetCount = answer.isResponse ? 0 : resetCount
        switch answer {
        case .nothing: return Consequence()
        case .lost:
            if !isLate { reached() }
        case .reset(let policy, let resource):
            resetCount += 1
            // Requests for other resources go first, because a server may fail to handle this one.
            if resetCount > 1 { refusedResources.insert(resource, until: context.now, at: context.now) }
            if resetCount >= Self.mostResets { return unreachable(policy, isLate: isLate, context) }
            if !isLate { reached() }
        case .unanswered(let policy):
            if case .unreachable = condition {
                return unreachable(policy, isLate: isLate, context)
            }
        case .failed(let resource):
            hasAnswered = true
            if isLate { break }
            reached()
            guard coolsDown(after: number, resource, isFailure: true, context) else { break }
            return Consequence(failingRetryLimit: failingRetryLimit(isTimed: false, context))
        case .accepted(let quota):
            hasAnswered = true
            pace.accepted(number)
            refusals.accepted(number)
            if !isLate { accepted(quota, wasProbe: wasProbe, at: context.now) }
        case .refused(let retryAfter, let resource):
            hasAnswered = true
            reached()
            if let retryAfter {
                guard refused(retryAfter, of: resource, wasProbe: wasProbe, at: context.now) else { break }
                refusals.coolDown(
                    after: number, lastNumber: context.lastNumber, statedTime: retryAfter, at: context.now)
            } else if !coolsDown(after: number, resource, isFailure: false, context) {
                break
            }
            let isRefusal = pace.refused(
                number, retryAfter ?? refusals.assumedTime, isTimed: retryAfter != nil, lastNumber: context.lastNumber,
                at: context.now)
            // An origin that serves nothing doesn't refuse requests because of the number of transfers.
            return Consequence(
                isRefusal: isRefusal && (context.isServing || retryAfter != nil && refusals.isFirst),
                failingRetryLimit: failingRetryLimit(isTimed: retryAfter != nil, context))
        case .unreachable(_, let policy):
            return unreachable(policy, isLate: isLate, context)
        }
        return Consequence()
    }

    /// Records that a connection was established.
    private mutating func reached() {
        if case .unreachable = condition { (condition, probe) = (.open, nil) }
    }

    private mutating func accepted(_ quota: RateLimit.Quota?, wasProbe: Bool, at now: Duration) {
        switch condition {
        case .coolingDown(let end, .announced) where now < end:
            // Responses may arrive out of order, so this quota may be older than the announcement.
            if quota != .available { (condition, ignoresAnnouncements) = (.open, true) }
            return
        case .coolingDown(let end, _) where now < end: return
        case .doubtful(let end) where now < end && !wasProbe: return
        case .open, .coolingDown, .doubtful, .unreachable: (condition, probe) = (.open, nil)
        }
        if case .exhausted(let time) = quota, !ignoresAnnouncements, time > .zero {
            condition = .coolingDown(end: now + time, .announced)
        }
    }

    /// Starts a cool-down of an assumed time if a failure, or a refusal without a time, concerns the origin; returns
    /// whether it does.
    private mutating func coolsDown(
        after number: Int, _ resource: ResourceID?, isFailure: Bool, _ context: Context
    ) -> Bool {
        if let resource {
            // Requests for other resources go first, because a server may fail to handle this one.
            refusals.add(resource, isFailure: isFailure)
            refusedResources.insert(resource, until: context.now, at: context.now)
            guard refusals.concernOrigin else { return false }
        }
        let isNew = refusals.coolDown(after: number, lastNumber: context.lastNumber, at: context.now)
        // A probe may be in progress.
        guard isNew else { return true }
        var end = context.now + refusals.assumedTime
        if case .coolingDown(let present, _) = condition { end = max(end, present) }
        (condition, probe) = (.coolingDown(end: end, .assumed), nil)
        return true
    }

    private func failingRetryLimit(isTimed: Bool, _ context: Context) -> Int {
        // An origin that serves another transfer may accept requests after that.
        context.isServing ? -1 : refusals.failingRetryLimit(isTimed: isTimed, at: context.now)
    }

    /// Handles a refusal that states a time, and returns whether it applies to the origin instead of to the resource.
    private mutating func refused(
        _ retryAfter: Duration, of resource: ResourceID?, wasProbe: Bool, at now: Duration
    ) -> Bool {
        var (end, hasDoubt) = (now + retryAfter, false)
        if let resource, end > now { refusedResources.insert(resource, until: end, at: now) }
        switch condition {
        case .coolingDown(let present, _) where now < present: end = max(end, present)
        case .doubtful(let present) where now < present:
            // The time of one resource doesn't apply to the origin, unless other resources are refused as well.
            if resource != nil || wasProbe { end = max(end, present) }
            hasDoubt = resource != nil && !wasProbe
        case .open, .coolingDown, .doubtful, .unreachable:
            hasDoubt = resource != nil && end > now
        }
        if hasDoubt {
            condition = .doubtful(end: end)
            return false
        }
        (condition, probe) = (end > now ? .coolingDown(end: end, .stated) : .open, nil)
        return true
    }

    private mutating func unreachable(_ policy: RetryPolicy, isLate: Bool, _ context: Context) -> Consequence {
        if case .coolingDown(let end, _) = condition, context.now < end {
            return Consequence(step: policy.maximumRetries > 0 ? .retry(number: 1, delay: end - context.now) : .end)
        }
        var outage = Outage(at: context.now)
        if case .unreachable(let present) = condition { outage = present }
        if !isLate { outage.failed(policy, context, hasAnswered: hasAnswered) }
        condition = .unreachable(outage)
        return Consequence(
            step: outage.step(retryLimit: policy.maximumRetries, context, hasAnswered: hasAnswered),
            failingRetryLimit: hasAnswered ? (outage.hasLasted(context) ? .max : 0) : outage.failureCount - 1)
    }
}
