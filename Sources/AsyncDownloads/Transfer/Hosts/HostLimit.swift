/// The limits on the requests to one host: the number of running transfers, and the pace of requests.
///
/// The first refusal of a period halves the number of transfers and shows the pace of the host. Later refusals are
/// ignored if their requests were sent before the first one was known. An ``OriginState`` handles the cool-down that a
/// refusal asks for. Every request is reserved, and then either begun and answered, or withdrawn.
struct HostLimit: Sendable {
    /// The configured limits.
    struct Settings: Sendable, Hashable {
        /// The number of transfers that may run at the same time; nil for a number that adapts.
        var transferCount: Int?
        var pace: RequestPace?
        /// The time for which transfers wait for an unreachable origin that has answered before.
        var patience = Duration.seconds(30)
    }

    /// The meaning of an answer for the limits of the host.
    enum Answer: Sendable, Hashable {
        /// The host has accepted the request.
        case accepted
        /// The host asks for fewer requests, and possibly for a time without requests.
        case refused(retryAfter: Duration?)
        /// The answer says nothing about the limits, as after a lost connection.
        case nothing
    }

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

    private let settings: Settings
    private(set) var concurrency: ConcurrencyLimit
    private(set) var learned: LearnedPace?
    /// The latest time at which a refusal permits requests again.
    private var refusalEnd = Duration.zero
    private var log: RequestLog
    private var spacing = RequestSpacing()
    private var period: Period?
    /// The period that a refusal has ended; responses that accept its requests may still arrive.
    private var refusedPeriod: Period?
    private(set) var lastNumber = 0
    /// The number of the last request that was sent before a refusal was known.
    private var lastNumberBeforeRefusal = 0
    private var unansweredCount = 0

    init(_ settings: Settings) {
        self.settings = settings
        concurrency = ConcurrencyLimit(fixedCount: settings.transferCount)
        log = RequestLog(capacity: max(RequestLog.leastCapacity, settings.pace?.count ?? 0))
    }

    /// The value to keep while the host has no requests; nil if nothing was learned about the host.
    var trimmed: Self? {
        guard
            unansweredCount > 0 || learned != nil || refusalEnd > .zero || !concurrency.isInitial
                || settings.pace != nil && !log.isEmpty
        else { return nil }
        var value = self
        // The log uses most of the memory.
        if learned == nil, settings.pace == nil { value.log.removeAll() }
        return value
    }

    /// Returns the time before which no request may be sent, unless another one is answered; nil if one may be sent
    /// now.
    func nextTime(at now: Duration) -> Duration? {
        if let pace = settings.pace {
            let time = max(log.nextTime(pace) ?? .zero, spacing.nextTime(pace))
            if time > now { return time }
        }
        guard let learned else { return nil }
        if let time = log.nextTime(learned.pace), time > now { return mayProbe(learned, at: now) ? nil : time }
        // The number of requests that the host can refuse is limited by the number that are unanswered.
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

extension HostLimit {
    /// Reserves a request that will be sent soon.
    mutating func reserve(at now: Duration) {
        unansweredCount += 1
        var period = presentPeriod(at: now)
        if let learned, period.probe == nil, log.nextTime(learned.pace).map({ $0 > now }) ?? false {
            period.probe = Probe(lastNumberBefore: lastNumber, isLimited: learned.isConfirmed)
        }
        period.sentCount += 1
        self.period = period
        log.add(now)
        if let pace = settings.pace { spacing.add(now, pace) }
    }

    private mutating func presentPeriod(at now: Duration) -> Period {
        if let period {
            guard let pace = learned?.pace, now >= period.start + pace.period else { return period }
            if period.acceptedCount >= pace.count { learned?.held(count: period.acceptedCount) }
        }
        // A host that counts in fixed periods has begun one at the end of the cool-down.
        let followsCoolDown = period == nil && learned.map { now < refusalEnd + $0.pace.period } ?? false
        return Period(start: followsCoolDown ? refusalEnd : now, lastNumberBefore: lastNumber)
    }

    /// Returns the number of a reserved request, which is being sent.
    mutating func begin() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Withdraws a reserved request that will not be sent.
    mutating func withdraw() {
        unansweredCount -= 1
    }

    /// Records that a transfer whose last request was accepted no longer runs.
    mutating func succeeded(isInDemand: Bool) {
        concurrency.succeeded(isInDemand: isInDemand)
    }

    /// Records the answer to a request, or its end without an answer.
    ///
    /// - Parameters:
    ///   - number: The number of the request.
    ///   - runningCount: The number of running transfers.
    mutating func answered(_ number: Int, _ answer: Answer, runningCount: Int, at now: Duration) {
        unansweredCount -= 1
        switch answer {
        case .nothing: break
        case .accepted: accepted(number, at: now)
        case .refused(let retryAfter):
            if number > lastNumberBeforeRefusal { refused(number, retryAfter, runningCount, at: now) }
            refusalEnd = max(refusalEnd, now + (retryAfter ?? .zero))
        }
    }

    private mutating func accepted(_ number: Int, at now: Duration) {
        concurrency.accepted(at: now)
        if number <= lastNumberBeforeRefusal, let refused = refusedPeriod, number > refused.lastNumberBefore {
            refusedPeriod?.acceptedCount += 1
            learned?.raise(to: refused.acceptedCount + 1)
        }
        guard var period, number > period.lastNumberBefore else { return }
        period.acceptedCount += 1
        if let probe = period.probe, number > probe.lastNumberBefore { period.probe?.accepted() }
        if let learned, !learned.isConfirmed, period.acceptedCount >= 2 * learned.pace.count {
            // The host has no such limit, or its limit is much higher.
            self.learned = nil
            period.probe = nil
        }
        self.period = period
    }

    private mutating func refused(_ number: Int, _ retryAfter: Duration?, _ runningCount: Int, at now: Duration) {
        let end = now + (retryAfter ?? .zero)
        lastNumberBeforeRefusal = lastNumber
        refusedPeriod = nil
        if let period, let probe = period.probe, number > probe.lastNumberBefore {
            learned?.confirm(count: period.acceptedCount, period: end - period.start, until: end)
            refusedPeriod = period
        } else {
            concurrency.refused(runningCount: runningCount, until: end)
            if let retryAfter, retryAfter > .zero { learn(retryAfter, until: end) }
        }
        if end > now { period = nil }
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
