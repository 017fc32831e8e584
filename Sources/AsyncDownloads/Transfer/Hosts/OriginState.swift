/// Whether and when requests may be sent to an origin: its cool-downs, its outages, and its pace.
///
/// The state belongs to an ``OriginPair``. While it is uncertain whether the origin accepts requests, only one request
/// at a time is sent, called the *probe*.
struct OriginState: Sendable {
    var condition = Condition.open
    var probe: Probe?
    /// The time after which requests no longer wait for the probe.
    ///
    /// The disk may hang before the probe is sent, or the server may not respond.
    private var probeEnd = Duration.zero
    private static let longestProbe = Duration.seconds(60)
    /// The time at which the last probe was permitted or sent.
    var probeStart: Duration { probeEnd - Self.longestProbe }
    var refusedResources = RefusedResources()
    var refusals: OriginRefusals
    /// The number of closed connections since the last response.
    var resetCount = 0
    /// Whether the origin has sent a response.
    var hasAnswered: Bool
    /// Whether announcements are ignored, because a request was accepted during an announced cool-down.
    var ignoresAnnouncements = false
    /// The hindrance of which the waiting transfers were notified; nil if the origin has accepted requests since.
    var reported: Hindrance?
    var pace = OriginPace()
    var silence = OriginSilence()

    /// - Parameters:
    ///   - hasAnswered: Whether the origin has sent a response before.
    ///   - hasAccepted: Whether the origin has accepted a request before.
    init(hasAnswered: Bool, hasAccepted: Bool) {
        self.hasAnswered = hasAnswered
        refusals = OriginRefusals(hasAccepted: hasAccepted)
    }

    /// Returns whether the value has to be kept while no transfer uses the origin.
    func isWorthKeeping(at now: Duration) -> Bool {
        // All transfers of an origin that fails may be waiting for their retries.
        if silence.isPresent || ignoresAnnouncements || pace.learned != nil { return true }
        if !refusals.isEmpty || resetCount > 0 { return true }
        if delaysRequests(at: now) { return true }
        if case .unreachable = condition { return true }
        return false
    }

    /// The value to keep while no transfer uses the origin.
    var trimmed: Self {
        var value = self
        value.pace = pace.trimmed
        return value
    }

    /// Returns whether all or some requests have to wait.
    func delaysRequests(at now: Duration) -> Bool {
        if refusedResources.isAnyRefused(at: now) { return true }
        return switch condition {
        case .open: false
        case .coolingDown(let end, _), .resourceRefused(let end): now < end
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
            case .resourceRefused(let end): min(end, probeEnd)
            case .unreachable(let outage): max(probeEnd, hasImpatient ? now : outage.attemptTime)
            }
        return time > now ? time : nil
    }

    /// Returns the reason why transfers are waiting; nil if there is none.
    func hindrance(at now: Duration) -> Hindrance? {
        switch condition {
        case .coolingDown(let end, .assumed) where refusals.lasts && (now < end || probe != nil):
            .outage(nextAttempt: max(now, end))
        case .coolingDown(let end, .assumed) where now < end: .shortCoolDown
        case .coolingDown(let end, _) where now < end: .coolDown(end: end)
        case .unreachable(let outage) where now < outage.attemptTime || probe != nil:
            .outage(nextAttempt: max(now, outage.attemptTime))
        case .open, .coolingDown, .resourceRefused, .unreachable: silence.isPresent ? .silence : nil
        }
    }

    /// Returns whether only one request is sent at a time.
    private func needsProbe(at now: Duration) -> Bool {
        switch condition {
        case .coolingDown(_, .assumed), .unreachable: true
        case .open, .coolingDown: false
        case .resourceRefused(let end): now < end
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
    ///
    /// - Parameter isAlone: Whether no other request is unanswered.
    func mayBeginExtra(isAlone: Bool, at now: Duration) -> Bool {
        guard conditionTime(hasImpatient: false, at: now) == nil else { return false }
        // If no transfer is waiting, no probe follows, and an extra request shows whether the origin accepts requests.
        return !needsProbe(at: now) || probe == nil && isAlone
    }

    /// Records that a reserved request is being sent.
    ///
    /// - Parameter ticket: The permit; nil for an extra request.
    mutating func began(_ number: Int, _ ticket: PermitQueue.Ticket?, at now: Duration) {
        guard let ticket else { return }
        silence.began(at: now)
        let isPermitted = probe == .permitted(ticket)
        if !needsProbe(at: now) {
            if isPermitted { probe = nil }
        } else if probe == nil || isPermitted || now >= probeEnd {
            setProbe(.sent(number), at: now)
        }
    }

    private mutating func setProbe(_ new: Probe, at now: Duration) {
        // The last probe may have got no answer.
        let earliest = probe == nil ? .zero : probeEnd
        (probe, probeEnd) = (new, now + Self.longestProbe)
        // No transfer may have had a permit, or the system was asleep.
        func isOverdue(since time: Duration) -> Bool { now - max(earliest, time) > Outage.memory }
        switch condition {
        case .coolingDown(let end, .assumed) where isOverdue(since: end): refusals.restartPatience(at: now)
        case .unreachable(var outage) where isOverdue(since: outage.attemptTime):
            outage.restartPatience(at: now)
            condition = .unreachable(outage)
        case .open, .coolingDown, .resourceRefused, .unreachable: break
        }
    }

    /// Records that a transfer uses the origin after none did; its patience begins now.
    mutating func renew(at now: Duration) {
        reported = nil
        refusals.restartPatience(at: now)
        guard case .unreachable(let outage) = condition, outage.isPast(at: now) else { return }
        condition = .unreachable(Outage(at: now))
    }
}
