/// The pace of requests that an origin accepts, learned from its refusals.
///
/// A refusal that starts a cool-down shows how many requests the origin has accepted in which time. Later refusals are ignored
/// if their requests were sent before the first one was known. Every request is reserved, and then either begun and
/// answered, or withdrawn. The numbers of requests increase in the order in which the requests are begun.
struct OriginPace: Sendable {
    /// The requests since the last cool-down, or within the period of the learned pace.
    private struct Period: Sendable {
        let start: Duration
        /// The number of the last request before this period.
        let lastNumberBefore: Int
        var sentCount = 0
        var acceptedCount = 0
        var probe: Probe?
    }

    /// Requests beyond the learned pace.
    private struct Probe: Sendable {
        let lastNumberBefore: Int
        let isLimited: Bool
        /// The number of unanswered requests that are permitted.
        private(set) var allowance = 1

        init(lastNumberBefore: Int, isLimited: Bool) {
            self.lastNumberBefore = lastNumberBefore
            self.isLimited = isLimited
        }

        mutating func accepted() {
            if !isLimited { allowance += 1 }
        }
    }

    /// The factor in the maximum length of a period from which a pace is learned: this factor times `Retry-After`, plus
    /// ``longestStart``.
    private static let longestPeriod = 10
    private static let longestStart = Duration.seconds(60)

    private(set) var learned: LearnedPace?
    /// The latest time at which a refusal permits requests again.
    private var refusalEnd = Duration.zero
    private var log = RequestLog()
    private var period: Period?
    /// The period that a refusal has ended; responses that accept its requests may still arrive.
    private var refusedPeriod: Period?
    /// The number of the last request that was sent before a refusal was known.
    private var lastNumberBeforeRefusal = 0
    private var unansweredCount = 0

    /// The value to keep while the origin has no requests.
    var trimmed: Self {
        // Without a pace, only the requests since the last cool-down matter, and their log uses most of the memory.
        learned == nil ? Self() : self
    }

    /// Returns the time before which no request may be sent, unless another one is answered; nil if one may be sent
    /// now.
    func nextTime(at now: Duration) -> Duration? {
        guard let learned else { return nil }
        if let time = log.nextTime(learned.pace), time > now { return mayProbe(learned, at: now) ? nil : time }
        // The number of requests that the origin can refuse is limited by the number that are unanswered.
        if let period, period.sentCount >= learned.pace.count / 2,
            unansweredCount >= learned.step + 1
        {
            let end = period.start + learned.pace.period
            return end > now ? end : nil
        }
        return nil
    }

    private func mayProbe(_ learned: LearnedPace, at now: Duration) -> Bool {
        guard let period, period.sentCount >= learned.pace.count, now < period.start + learned.pace.period,
            now >= learned.probeTime
        else { return false }
        if learned.isConfirmed, period.sentCount >= learned.pace.count + learned.step { return false }
        return unansweredCount < period.probe?.allowance ?? 1
    }
}

// MARK: - Requests

extension OriginPace {
    /// Reserves a request that will be sent soon.
    ///
    /// - Parameter lastNumber: The number of the last request that was begun.
    mutating func reserve(_ lastNumber: Int, at now: Duration) {
        unansweredCount += 1
        var period = presentPeriod(lastNumber, at: now)
        if let learned, period.probe == nil, log.nextTime(learned.pace).map({ $0 > now }) ?? false {
            period.probe = Probe(lastNumberBefore: lastNumber, isLimited: learned.isConfirmed)
        }
        period.sentCount += 1
        self.period = period
        log.add(now)
    }

    private mutating func presentPeriod(_ lastNumber: Int, at now: Duration) -> Period {
        if let period {
            guard let pace = learned?.pace, now >= period.start + pace.period else { return period }
            if period.acceptedCount >= pace.count { learned?.held(count: period.acceptedCount) }
        }
        // An origin that counts in fixed periods has begun one at the end of the cool-down.
        let followsCoolDown = period == nil && learned.map { now < refusalEnd + $0.pace.period } ?? false
        return Period(start: followsCoolDown ? refusalEnd : now, lastNumberBefore: lastNumber)
    }

    /// Records that a reserved request was answered, has ended without an answer, or was withdrawn.
    mutating func ended() {
        unansweredCount -= 1
    }

    /// Records that the origin has accepted a request.
    mutating func accepted(_ number: Int) {
        if number <= lastNumberBeforeRefusal, let refused = refusedPeriod, number > refused.lastNumberBefore {
            refusedPeriod?.acceptedCount += 1
            learned?.raise(to: refused.acceptedCount + 1)
        }
        guard var period, number > period.lastNumberBefore else { return }
        period.acceptedCount += 1
        if let probe = period.probe, number > probe.lastNumberBefore { period.probe?.accepted() }
        if let learned, !learned.isConfirmed, period.acceptedCount >= 2 * learned.pace.count {
            // The origin has no such limit, or its limit is much higher.
            self.learned = nil
            period.probe = nil
        }
        self.period = period
    }

    /// Records that the origin has refused a request, and returns whether the refusal may concern the number of transfers.
    ///
    /// It doesn't if the request was beyond the learned pace, or was sent before an earlier refusal was known.
    ///
    /// - Parameters:
    ///   - retryAfter: The time of the cool-down, which the refusal states, or which is assumed.
    ///   - isTimed: Whether the refusal states the time, so that the end of the cool-down is that of a period.
    ///   - lastNumber: The number of the last request that was begun.
    mutating func refused(
        _ number: Int, _ retryAfter: Duration, isTimed: Bool = true, lastNumber: Int, at now: Duration
    ) -> Bool {
        let end = now + retryAfter
        defer { refusalEnd = max(refusalEnd, end) }
        guard number > lastNumberBeforeRefusal else { return false }
        lastNumberBeforeRefusal = lastNumber
        refusedPeriod = nil
        defer { if end > now { period = nil } }
        if let period, let probe = period.probe, number > probe.lastNumberBefore {
            learned?.confirm(
                count: period.acceptedCount, period: isTimed ? end - period.start : .zero, until: end)
            refusedPeriod = period
            return false
        }
        if retryAfter > .zero { learn(retryAfter, until: end) }
        return true
    }

    private mutating func learn(_ retryAfter: Duration, until end: Duration) {
        guard let period, (1...RequestLog.leastCapacity).contains(period.acceptedCount) else { return }
        let length = end - period.start
        if learned?.hasHeld == true {
            learned?.slowDown()
        } else if length <= retryAfter * Self.longestPeriod + Self.longestStart {
            learned = LearnedPace(count: period.acceptedCount, period: length)
            refusedPeriod = period
        }
    }
}
