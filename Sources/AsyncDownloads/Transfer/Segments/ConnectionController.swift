/// Decides how many connections one transfer uses.
///
/// A transfer starts with one connection by default. It tries more in steps: each step doubles the number, or adds
/// eight once a step has shown that the server limits each connection. New connections are kept only if the rate
/// increases by more than the other transfers lose: taking rate from another file isn't a gain.
struct ConnectionController: Sendable {
    /// The stage of the decision.
    private enum State {
        /// The rate with the present number is measured. Continues with `trying` when the rate has settled.
        case measuring
        /// A step is judged. Continues with `measuring` if it is accepted or can't be judged, and otherwise with
        /// `holding`.
        case trying(ConnectionStep)
        /// Nothing is tried until a time. Continues with `measuring`.
        case holding(until: Duration)
    }

    // The number is the smallest of four: `decided`, by the measured rates; `bound`, which the downloader permits; and
    // the ceilings of `collapse` and `refusals`, which the network and the host have shown, and which rise again.
    private let mode: Mode
    private var state: State
    /// The number that resulted from the steps.
    private var decided: Int
    private var bound = RecentBound()
    /// The number of connections that increased the rate enough at the last judgment; nil before the first one.
    private(set) var effectiveCount: Int?
    private var windows = RateWindows()
    private var collapse = CollapseWatch()
    private var refusals = RefusalRecord()
    private var growth = Growth.unknown
    /// Whether no step has been tried yet, and whether none has been rejected yet.
    private var (isUntried, isFirstClimb) = (true, true)
    /// The time until which samples are frequent, because a rate is to be judged soon.
    private var frequentEnd: Duration
    /// The times without a step: after a rejected step, and after a step that another transfer has disturbed.
    private var rejectedHold = DoublingTime(first: Self.firstHold, longest: .seconds(600))
    private var disturbedHold = DoublingTime(first: .seconds(1), longest: Self.firstHold)

    private static let firstHold = Duration.seconds(30)
    /// The longest hold after another file has ended; not zero, because several files may end in succession.
    private static let departureHold = Duration.seconds(1)
    /// The time with frequent samples before a step, and the time after which a step is judged in any case.
    private static let (climbTime, stepTime) = (Duration.seconds(1), Duration.seconds(5))

    /// - Parameter effectiveCount: The number from an earlier transfer from the host; it is used immediately.
    init(_ mode: Mode, effectiveCount: Int = 1, at now: Duration) {
        self.mode = mode
        switch mode {
        case .automatic(let maximum):
            decided = max(1, min(effectiveCount, maximum))
            state = decided > 1 ? .holding(until: now + Self.firstHold) : .measuring
            frequentEnd = now + Self.climbTime
        case .fixed(let number):
            (decided, state, frequentEnd) = (max(1, number), .measuring, now)
        }
    }

    /// The number of connections that the transfer may use.
    var number: Int { max(1, min(decided, ceiling)) }

    private var ceiling: Int { min(bound.value, collapse.ceiling ?? .max, refusals.ceiling ?? .max) }

    /// Whether a step is being judged, during which no other transfer should try one.
    var isTrying: Bool { if case .trying = state { true } else { false } }

    /// Whether the rate has collapsed in the last minutes.
    var hasCollapsed: Bool { collapse.ceiling != nil }

    /// Whether some connections of a step have no segment yet.
    private var isCompletingStep: Bool { if case .trying(let step) = state { step.completedAt == nil } else { false } }

    /// Returns the time until the next sample, if a connection takes `setup` to deliver its first byte.
    func sampleInterval(setup: Duration, at now: Duration) -> Duration {
        windows.sampleInterval(setup: setup, isFrequent: now < frequentEnd, at: now)
    }

    /// Returns whether connections may be requested now; after a refusal, none are requested for some time.
    func mayRequest(at now: Duration) -> Bool { refusals.mayRequest(at: now) }
}

// MARK: - Inputs

extension ConnectionController {
    /// Handles a sample, and returns how many connections the transfer may use.
    mutating func measure(_ sample: Sample, at now: Duration) -> Int {
        bound.update(max(1, sample.bound), at: now)
        collapse.expire(at: now)
        refusals.record(segmentCount: sample.segmentCount)
        refusals.recover(at: now)
        guard case .automatic(let maximum) = mode else { return number }
        // A bound doesn't judge the decided number, but the windows no longer measure that number.
        if number < decided {
            windows.void()
            if case .trying(let step) = state { undo(step) }
            decided = min(decided, collapse.ceiling ?? .max, refusals.ceiling ?? .max)
        }
        if decided == 1, let parts = sample.serverParts { windows.align(toPartsEvery: parts.interval, at: now) }
        // Windows are comparable only if all connections receive, and nothing else limits them.
        if sample.isThrottled || sample.segmentCount < decided, !isCompletingStep { windows.void() }
        let window = windows.add(sample.byteCount, others: sample.otherByteCount, setup: sample.setup, at: now)
        if let window, decided > 1, !isTrying, collapse.isDue(window.rate, for: window.length) { halve(at: now) }
        switch state {
        case .measuring: measured(sample, maximum, at: now)
        case .trying(let step): judge(step, sample, maximum, hasWindow: window != nil, at: now)
        case .holding(let end): if now >= end { beginMeasuring(at: now) }
        }
        return number
    }

    /// Handles a change among the other transfers, after which rates aren't comparable.
    ///
    /// A step that is being judged is undone and tried again later. The delay increases with each disturbance, because
    /// a transfer would otherwise keep opening and closing connections while many short files are downloaded.
    mutating func disturbed(by disturbance: Disturbance, at now: Duration) {
        windows.void()
        if case .trying(let step) = state {
            decided = step.from
            hold(for: disturbedHold.take(), at: now)
        }
        // Another file keeps the connections that it tries for a short time only.
        if disturbance != .otherNumber { collapse.void() }
        if disturbance == .departure {
            // A step may gain more than before, and the host may accept connections that it refused.
            refusals.otherFileEnded()
            collapse.removeCeiling()
            disturbedHold.reset()
            if case .holding(let end) = state { state = .holding(until: min(end, now + Self.departureHold)) }
        }
    }

    /// Handles that the host has refused additional connections, after every request of the group was answered.
    ///
    /// - Parameter segmentCount: How many connections of the transfer had a segment then.
    /// - Returns: The number of connections that the host permits, to be recorded; nil if the refusal doesn't show it.
    mutating func refused(segmentCount: Int, at now: Duration) -> Int? {
        let ceiling = refusals.refused(segmentCount: segmentCount, at: now)
        guard case .automatic = mode else { return ceiling }
        switch state {
        case .trying(var step) where segmentCount > step.from:
            // The connections that were accepted are judged without the others.
            step.to = min(step.to, segmentCount)
            decided = step.to
            state = .trying(step)
        case .trying(let step):
            decided = step.from
            hold(for: Self.firstHold, at: now)
        // The refused connection would have replaced another one; the number is unchanged unless the host limits it.
        case .measuring, .holding:
            decided = min(decided, ceiling ?? .max)
        }
        return ceiling
    }

    /// Handles that the host has accepted an additional connection; `segmentCount` connections now have a segment.
    mutating func accepted(segmentCount: Int) {
        refusals.accepted(segmentCount: segmentCount)
    }
}

// MARK: - Steps

extension ConnectionController {
    private mutating func measured(_ sample: Sample, _ maximum: Int, at now: Duration) {
        guard !sample.isThrottled else { return }
        let settled = windows.settled
        if let settled { collapse.observed(settled) }
        // Nothing is known about the server before the first step, which may therefore begin early.
        guard let rate = settled ?? (isUntried ? sample.earlyRate(windows.latest) : nil) else { return }
        tryMore(sample, maximum, rate, isSettled: settled != nil, at: now)
    }

    /// Begins a step from the present number, at which the transfers have `rate`, if a step is permitted.
    private mutating func tryMore(
        _ sample: Sample, _ maximum: Int, _ rate: RateWindows.Rate, isSettled: Bool, at now: Duration
    ) {
        let target = target(sample, maximum)
        guard sample.permitsStep(at: rate, growth), mayRequest(at: now), target > decided else { return }
        begin(ConnectionStep(from: decided, rate: rate, isSettled: isSettled, to: target, startedAt: now), at: now)
    }

    private mutating func begin(_ step: ConnectionStep, at now: Duration) {
        (decided, state, isUntried, frequentEnd) = (step.to, .trying(step), false, now + Self.stepTime)
        windows.restart(at: now)
    }

    /// Returns the number of connections after a step, which is larger than the present one if a step is possible.
    private func target(_ sample: Sample, _ maximum: Int) -> Int {
        let most = min(maximum, ceiling, sample.largestNumber)
        return min(growth == .proportional ? .max : 2 * decided, decided + 8, most)
    }

    /// - Parameter hasWindow: Whether a window ends now.
    private mutating func judge(
        _ step: ConnectionStep, _ sample: Sample, _ maximum: Int, hasWindow: Bool, at now: Duration
    ) {
        if sample.isThrottled || !sample.mayRequest { return undo(step) }
        if !sample.mayTry {
            decided = step.from
            return hold(for: Self.firstHold, at: now)
        }
        let windowRate = hasWindow && !windows.isBursty ? windows.latest : nil
        if let rate = sample.rateOfParts(after: step) ?? windowRate, step.gain(rate) >= 0.75 * step.proportion {
            accept(step, rate, at: now)
            windows.restart(at: now)
            // The next step doesn't wait for a settled rate, unless the rate also increases for another reason.
            guard step.gain(rate) <= 1.5 * step.proportion else { return windows.forgetParts(at: now) }
            if growth == .unknown { growth = .proportional }
            return tryMore(sample, maximum, rate, isSettled: false, at: now)
        }
        // After more time, a gain would not show that the second connection is the cause.
        if step.isEarly, step.completedAt != nil, windows.count >= 2 { return undo(step) }
        var step = step
        if step.completedAt == nil, sample.segmentCount >= step.to {
            step.completedAt = now
            // Bytes that arrived while connections were being set up say nothing about the number of connections.
            windows.restart(at: now)
            state = .trying(step)
        }
        let isLast = now - step.startedAt >= max(Self.stepTime, sample.setup * 20)
        if let completedAt = step.completedAt, now - completedAt >= max(.milliseconds(200), sample.setup),
            let settled = windows.settled,
            step.isProven(by: settled) || now - completedAt >= max(step.patience, sample.setup * 4)
        {
            decide(step, settled, isLast: isLast, at: now)
        } else if isLast {
            conclude(step, segmentCount: sample.segmentCount, at: now)
        }
    }

    /// Judges a step whose time passed before its rate settled.
    private mutating func conclude(_ step: ConnectionStep, segmentCount: Int, at now: Duration) {
        var step = step
        if step.completedAt == nil { step.to = min(step.to, segmentCount) }
        guard step.to > step.from, let latest = windows.latest, latest.own > 0 else {
            // The number can't be judged: no additional connection got a segment, or nothing has arrived.
            decided = step.from
            return hold(for: Self.firstHold, at: now)
        }
        decided = step.to
        decide(step, latest, isLast: true, at: now)
    }

    private mutating func decide(_ step: ConnectionStep, _ rate: RateWindows.Rate, isLast: Bool, at now: Duration) {
        let gain = step.gain(rate)
        if step.to > 2 * step.from, gain < 0.75 * step.proportion {
            growth = .limited
            // A smaller step may gain what this one didn't.
            guard gain >= 0.25 else { return begin(step.doubling(at: now), at: now) }
            // The connections that are kept take some time to receive the shares of the others.
            collapse.void()
            return keep(step.effectiveCount(rate), at: now)
        }
        // The rate has settled, so the next step can follow immediately.
        if step.isProven(by: rate) { return accept(step, rate, at: now) }
        let isWorthSome = isFirstClimb && gain >= 0.05
        // A small gain may be random, so it has to last for a second.
        if isWorthSome, windows.time < .seconds(1), !isLast { return }
        // A small gain is compared only with a rate that had settled before the step.
        if isWorthSome, !step.isSettled { return undo(step) }
        isFirstClimb = false
        let count = isWorthSome ? step.effectiveCount(rate) : step.from
        collapse.accepted(count == step.from ? step.rate : rate)
        keep(count, at: now)
    }

    private mutating func keep(_ count: Int, at now: Duration) {
        (decided, effectiveCount) = (count, count)
        hold(for: rejectedHold.take(), at: now)
    }

    private mutating func accept(_ step: ConnectionStep, _ rate: RateWindows.Rate, at now: Duration) {
        collapse.accepted(rate)
        effectiveCount = step.to
        disturbedHold.reset()
        beginMeasuring(at: now)
    }

    private mutating func beginMeasuring(at now: Duration) {
        (state, frequentEnd) = (.measuring, now + Self.climbTime)
    }

    /// Returns to the number before a step, without judging the step.
    private mutating func undo(_ step: ConnectionStep) {
        (decided, state) = (step.from, .measuring)
        windows.void()
    }

    private mutating func hold(for time: Duration, at now: Duration) {
        (state, frequentEnd) = (.holding(until: now + time), now)
        windows.void()
    }

    private mutating func halve(at now: Duration) {
        decided = max(1, decided / 2)
        effectiveCount = decided
        collapse.halved(to: decided, at: now)
        hold(for: Self.firstHold, at: now)
    }
}
