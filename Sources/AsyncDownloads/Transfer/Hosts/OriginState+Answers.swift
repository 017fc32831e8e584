extension OriginState {
    /// The number of consecutive connections closed without a response after which the origin is treated as
    /// unreachable.
    private static let unreachableResetCount = 8
    /// The shortest wait of which the waiting transfers are notified.
    private static let shortestReported = Duration.seconds(1)

    /// Records the answer to a request; called once for each request.
    ///
    /// - Parameter ticket: The permit of the request; nil for an extra request.
    mutating func answered(
        _ number: Int, _ answer: RequestAnswer, of ticket: PermitQueue.Ticket?, _ context: Context
    ) -> Consequence {
        pace.ended()
        silence.ended(isAwaited: ticket != nil, isResponse: answer.isResponse, at: context.now)
        if answer.isResponse { (hasAnswered, resetCount) = (true, 0) }
        let wasProbe = probe == .sent(number)
        if answer.isAccepted {
            pace.accepted(number)
            refusals.accepted(number, sentAt: wasProbe ? probeStart : context.now, at: context.now)
        }
        if context.isServing { refusals.restartPatience(at: context.now) }
        if wasProbe {
            // The request to the target of a redirect is the probe then.
            if case .redirected = answer { probe = ticket.map(Probe.permitted) } else { probe = nil }
        }
        var consequence: Consequence
        if case .unreachable(let outage) = condition, !wasProbe, outage.isLate(number) {
            consequence = answeredLate(number, answer, context)
        } else {
            consequence = answeredInTime(number, answer, wasProbe: wasProbe, context)
        }
        consequence.notifiesWaiting = reportHindrance(at: context.now)
        return consequence
    }

    /// Returns whether the waiting transfers have to be notified of the present hindrance, which is then recorded.
    ///
    /// They are notified of a cool-down with a known end, of its extension, and of an outage that isn't over soon.
    private mutating func reportHindrance(at now: Duration) -> Bool {
        let present = hindrance(at: now)
        switch (present, reported) {
        case (nil, _), (.silence, _), (.shortCoolDown, _):
            reported = nil
            return false
        case (.coolDown(let end), .coolDown(let reportedEnd)) where end < reportedEnd + Self.shortestReported:
            return false
        case (.coolDown(let end), _) where end < now + Self.shortestReported: return false
        case (.outage, .outage): return false
        case (.outage(let nextAttempt), _) where nextAttempt < now + Self.shortestReported && !isRepeated: return false
        case (.coolDown, _), (.outage, _): break
        }
        reported = present
        return true
    }

    /// Whether several attempts or cool-downs have followed one another.
    private var isRepeated: Bool {
        if case .unreachable(let outage) = condition { outage.failureCount > 1 } else { refusals.lasts }
    }

    /// Records the answer to a request that was sent before the outage.
    ///
    /// The outcome of its connection is outdated, but a stated time still applies.
    private mutating func answeredLate(
        _ number: Int, _ answer: RequestAnswer, _ context: Context
    ) -> Consequence {
        switch answer {
        case .unanswered(let policy, _), .unreachable(_, let policy), .reset(let policy, _):
            unreachable(policy, isLate: true, context)
        case .refused(.some, _): answeredInTime(number, answer, wasProbe: false, context)
        case .accepted, .redirected, .refused, .failed, .lost, .nothing: Consequence()
        }
    }

    private mutating func answeredInTime(
        _ number: Int, _ answer: RequestAnswer, wasProbe: Bool, _ context: Context
    ) -> Consequence {
        switch answer {
        case .nothing: return Consequence()
        case .unreachable(_, let policy): return unreachable(policy, isLate: false, context)
        case .unanswered(let policy, let resource):
            if case .unreachable = condition { return unreachable(policy, isLate: false, context) }
            return unanswered(number, resource, policy, wasProbe: wasProbe, context)
        case .reset(let policy, let resource):
            resetCount += 1
            // Requests for other resources go first, because a server may fail to handle this one.
            if resetCount > 1 { refusedResources.insert(resource, until: context.now, at: context.now) }
            if resetCount >= Self.unreachableResetCount { return unreachable(policy, isLate: false, context) }
            return lost(number, context)
        case .lost: return lost(number, context)
        case .redirected:
            reached()
            pace.accepted(number)
            return Consequence()
        case .failed(let resource):
            reached()
            guard startCoolDownIfOriginFails(after: number, resource, .failure, context) else { return Consequence() }
            return consequence(isTimed: false, at: context.now)
        case .accepted(let quota):
            accepted(number, quota, wasProbe: wasProbe, at: context.now)
            return Consequence()
        case .refused(let retryAfter?, let resource):
            reached()
            guard refused(retryAfter, of: resource, wasProbe: wasProbe, at: context.now) else { return Consequence() }
            refusals.coolDown(
                after: number, .refusal, lastNumber: context.lastNumber, statedTime: retryAfter, at: context.now)
            return refusal(number, retryAfter, isTimed: true, context)
        case .refused(nil, let resource):
            reached()
            // A host that limits connections refuses the same transfers again while it serves others.
            let isRepeated = context.isServing && resource.map(refusals.isRepeated) ?? false
            guard startCoolDownIfOriginFails(after: number, resource, .refusal, context) else {
                return Consequence(isRefusal: isRepeated)
            }
            return refusal(
                number, refusals.assumedEnd(at: context.now) - context.now, isTimed: false, context)
        }
    }

    /// Records that the origin hasn't responded to the request for a resource within the idle timeout.
    private mutating func unanswered(
        _ number: Int, _ resource: ResourceID, _ policy: RetryPolicy, wasProbe: Bool, _ context: Context
    ) -> Consequence {
        reached()
        guard startCoolDownIfOriginFails(after: number, resource, .noResponse, context) else { return Consequence() }
        var limit = refusals.failingRetryLimit(afterResponse: false, at: context.now)
        // As during an outage, transfers without retries don't wait. An origin that serves others may limit connections.
        if wasProbe, !context.isServing { limit = max(0, limit) }
        return Consequence(
            step: limit >= policy.maximumRetries ? .end : nil, concernsOrigin: true, failingRetryLimit: limit)
    }

    /// Records that a request was lost after its connection was established.
    private mutating func lost(_ number: Int, _ context: Context) -> Consequence {
        reached()
        guard case .coolingDown(_, .assumed) = condition, !refusals.isLate(number),
            startCoolDownIfOriginFails(after: number, nil, .failure, context)
        else { return Consequence() }
        return consequence(isTimed: false, at: context.now)
    }

    /// Returns the consequence of a refusal that has started a cool-down.
    private mutating func refusal(
        _ number: Int, _ time: Duration, isTimed: Bool, _ context: Context
    ) -> Consequence {
        let isRefusal = pace.refused(number, time, isTimed: isTimed, lastNumber: context.lastNumber, at: context.now)
        // An origin that serves nothing doesn't refuse requests because of the number of transfers.
        return consequence(
            isRefusal: isRefusal && (context.isServing || isTimed && refusals.isFirstStated), isTimed: isTimed,
            at: context.now)
    }

    /// Records that a connection was established.
    private mutating func reached() {
        if case .unreachable = condition { (condition, probe) = (.open, nil) }
    }

    private mutating func accepted(_ number: Int, _ quota: RateLimit.Quota?, wasProbe: Bool, at now: Duration) {
        switch condition {
        case .coolingDown(_, .assumed) where !wasProbe && refusals.isLate(number): return
        case .coolingDown(let end, .announced(let announcer)) where now < end:
            // A request sent before the announcing one proves nothing about the announcement.
            if number > announcer, quota != .available { (condition, ignoresAnnouncements) = (.open, true) }
            return
        case .coolingDown(let end, _) where now < end: return
        case .resourceRefused(let end) where now < end && !wasProbe: return
        case .open, .coolingDown, .resourceRefused, .unreachable: (condition, probe) = (.open, nil)
        }
        if case .exhausted(let time) = quota, !ignoresAnnouncements, time > .zero {
            condition = .coolingDown(end: now + time, .announced(by: number))
        }
    }

    /// Starts a cool-down of an assumed time if a failure, or a refusal without a time, concerns the origin; returns
    /// whether it does.
    private mutating func startCoolDownIfOriginFails(
        after number: Int, _ resource: ResourceID?, _ kind: OriginRefusals.Kind, _ context: Context
    ) -> Bool {
        if let resource {
            refusals.add(resource, kind)
            // Requests for other resources go first, because a server may fail to handle this one. It may also respond
            // slowly to the first requests only, so the resources from before the cool-down are requested again first.
            if kind != .noResponse || refusals.concernOrigin {
                refusedResources.insert(resource, until: context.now, at: context.now)
            }
            guard refusals.concernOrigin else { return false }
        }
        let isNew = refusals.coolDown(after: number, kind, lastNumber: context.lastNumber, at: context.now)
        // A probe may be in progress.
        guard isNew else { return true }
        var end = refusals.assumedEnd(at: context.now)
        if case .coolingDown(let present, _) = condition { end = max(end, present) }
        (condition, probe) = (.coolingDown(end: end, .assumed), nil)
        return true
    }

    /// Returns the consequence of a cool-down.
    private func consequence(isRefusal: Bool = false, isTimed: Bool, at now: Duration) -> Consequence {
        Consequence(
            isRefusal: isRefusal, concernsOrigin: !isTimed,
            failingRetryLimit: refusals.failingRetryLimit(isTimed: isTimed, at: now))
    }

    /// Handles a refusal that states a time, and returns whether it applies to the origin instead of to the resource.
    private mutating func refused(
        _ retryAfter: Duration, of resource: ResourceID?, wasProbe: Bool, at now: Duration
    ) -> Bool {
        var (end, isOfResource) = (now + retryAfter, false)
        if let resource, end > now { refusedResources.insert(resource, until: end, at: now) }
        switch condition {
        case .coolingDown(let present, _) where now < present:
            if resource != nil { return false }
            end = max(end, present)
        case .resourceRefused(let present) where now < present:
            // The time of one resource doesn't apply to the origin, unless other resources are refused as well.
            if resource != nil { end = max(end, present) }
            isOfResource = resource != nil && !wasProbe
        case .open, .coolingDown, .resourceRefused, .unreachable:
            isOfResource = resource != nil && end > now
        }
        if isOfResource {
            condition = .resourceRefused(end: end)
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
