/// Decides how many connections one transfer uses.
///
/// By default it is one connection. More are tried, twice as many in each step, or eight more once a step has shown that
/// the server limits each connection. They are kept only if the rate increases by more than the other transfers
/// of the downloader lose, so that a connection which takes its rate from another file gains nothing.
struct ConnectionController: Sendable {
    /// The stage of the decision.
    private enum State {
        /// The rate with the present number is measured; a step follows when it has settled.
        case measuring
        /// A step is judged. Continues with `measuring` if it is accepted or can't be judged, and otherwise with
        /// `holding`.
        case trying(ConnectionStep)
        /// Nothing is tried until a time. Continues with `measuring`.
        case holding(until: Duration)
    }

    // The number is the smallest of four: `decided`, which the measured rates have shown; `bound`, which the downloader
    // permits at present; and the ceilings of `collapse` and `refusals`, which the network and the host have shown and
    // which rise again after some time.
    private let mode: Mode
    private var state: State
    /// The number that the steps have led to.
    private var decided: Int
    private var bound = RecentBound()
    /// The number that was worth its connections according to the last judgment; nil before the first one.
    private(set) var worthwhileCount: Int?
    private var windows = RateWindows()
    private var collapse = CollapseWatch()
    private var refusals = RefusalRecord()
    private var growth = Growth.unknown
    /// Whether no step was rejected yet.
    private var isFirstClimb = true
    /// The end of the time in which samples are frequent, because a rate is to be judged soon.
    private var frequentEnd: Duration
    /// The times without a step after one was rejected, and after another transfer has disturbed one.
    private var rejectedHold = DoublingTime(first: Self.firstHold, longest: .seconds(600))
    private var disturbedHold = DoublingTime(first: .seconds(1), longest: Self.firstHold)

    private static let firstHold = Duration.seconds(30)
    /// The longest hold after another file has ended, not zero because several files may end in succession.
    private static let departureHold = Duration.seconds(1)
    /// The interval between two samples, unless a rate is to be judged soon.
    static let longestInterval = Duration.milliseconds(125)
    /// For how long samples are frequent before a step, and in a step, which is judged then at the earliest if its rate
    /// hasn't settled.
    private static let (climbTime, stepTime) = (Duration.seconds(1), Duration.seconds(5))

    /// - Parameter worthwhileCount: The number that was kept in an earlier transfer from the host; it is used at once.
    init(_ mode: Mode, worthwhileCount: Int = 1, at now: Duration) {
        self.mode = mode
        switch mode {
        case .automatic(let maximum):
            decided = max(1, min(worthwhileCount, maximum))
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

    /// Whether connections of a step have no segment yet.
    private var isCompletingStep: Bool { if case .trying(let step) = state { step.completedAt == nil } else { false } }

    /// Returns the time until the next sample, if a connection takes `setup` to deliver its first byte.
    func sampleInterval(setup: Duration, at now: Duration) -> Duration {
        now < frequentEnd ? RateWindows.shortestLength(setup: setup) / 4 : Self.longestInterval
    }

    /// Returns whether connections may be requested now: some time after a refusal none are.
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
        // A bound is not a judgment, but the windows don't measure the decided number.
        if number < decided {
            windows.void()
            if case .trying(let step) = state { undo(step) }
            decided = min(decided, collapse.ceiling ?? .max, refusals.ceiling ?? .max)
        }
        // Windows are comparable only if all connections receive, and nothing else limits them.
        if sample.isThrottled || sample.segmentCount < decided, !isCompletingStep { windows.void() }
        let shortest = RateWindows.shortestLength(setup: sample.setup)
        let window = windows.add(sample.byteCount, others: sample.otherByteCount, shortest: shortest, at: now)
        if let window, decided > 1, !isTrying, collapse.isDue(window.rate, for: window.length) { halve(at: now) }
        switch state {
        case .measuring: measured(sample, maximum, at: now)
        case .trying(let step): judge(step, sample, maximum, hasWindow: window != nil, at: now)
        case .holding(let end): if now >= end { beginMeasuring(at: now) }
        }
        return number
    }

    /// Handles a change of the other transfers, after which the rates aren't comparable with those before.
    ///
    /// A step that is being judged is undone. It is tried again after a time that increases with each such disturbance,
    /// because connections would otherwise be opened and closed all the time beside many short files.
    mutating func disturbed(by disturbance: Disturbance, at now: Duration) {
        windows.void()
        if case .trying(let step) = state {
            decided = step.from
            hold(for: disturbedHold.take(), at: now)
        }
        // Another file's connections are tried for a short time only.
        if disturbance != .otherNumber { collapse.void() }
        if disturbance == .departure {
            // A step may gain now what it didn't before, and connections may be accepted that were refused.
            refusals.otherFileEnded()
            collapse.removeCeiling()
            disturbedHold.reset()
            if case .holding(let end) = state { state = .holding(until: min(end, now + Self.departureHold)) }
        }
    }

    /// Handles that the host has refused further connections, after every request of the group was answered.
    ///
    /// - Parameter segmentCount: How many connections of the transfer had a segment then.
    /// - Returns: The number that the host permits, if the refusal says so; it is worth remembering.
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
        // A connection that was replaced; the number is unchanged unless the host limits it.
        case .measuring, .holding:
            decided = min(decided, ceiling ?? .max)
        }
        return ceiling
    }

    /// Handles that the host has accepted a further connection, with which `segmentCount` connections have a segment.
    mutating func accepted(segmentCount: Int) {
        refusals.accepted(segmentCount: segmentCount)
    }
}

// MARK: - Steps

extension ConnectionController {
    private mutating func measured(_ sample: Sample, _ maximum: Int, at now: Duration) {
        guard let rate = windows.settled, !sample.isThrottled else { return }
        collapse.observed(rate)
        tryMore(sample, maximum, rate, isSettled: true, at: now)
    }

    /// Begins a step from the present number, with which the transfers have `rate`, if one is permitted.
    private mutating func tryMore(
        _ sample: Sample, _ maximum: Int, _ rate: RateWindows.Rate, isSettled: Bool, at now: Duration
    ) {
        let target = target(sample, maximum)
        guard sample.permitsStep(at: rate, growth), mayRequest(at: now), target > decided else { return }
        let step = ConnectionStep(from: decided, rate: rate, isSettled: isSettled, to: target, startedAt: now)
        begin(step, at: now)
    }

    private mutating func begin(_ step: ConnectionStep, at now: Duration) {
        (decided, state, frequentEnd) = (step.to, .trying(step), now + Self.stepTime)
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
        if hasWindow, let rate = windows.latest, !windows.isBursty, step.gain(rate) >= 0.75 * step.proportion {
            accept(step, rate, at: now)
            windows.restart(at: now)
            // The next step doesn't wait until the rate has settled, unless it increases for another reason as well.
            guard step.gain(rate) <= 1.5 * step.proportion else { return }
            if growth == .unknown { growth = .proportional }
            return tryMore(sample, maximum, rate, isSettled: false, at: now)
        }
        var step = step
        if step.completedAt == nil, sample.segmentCount >= step.to {
            step.completedAt = now
            // What arrived while connections were set up says nothing about their number.
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

    /// Judges a step whose time has passed before the rate has settled.
    private mutating func conclude(_ step: ConnectionStep, segmentCount: Int, at now: Duration) {
        var step = step
        if step.completedAt == nil { step.to = min(step.to, segmentCount) }
        guard step.to > step.from, let latest = windows.latest, latest.own > 0 else {
            // Nothing is known about the number: no further connection has got a segment, or nothing has arrived.
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
            // Fewer connections may gain what so many don't.
            guard gain >= 0.25 else { return begin(step.doubling(at: now), at: now) }
            // Those that are kept take some time to receive the shares of the others.
            collapse.void()
            return keep(step.worthwhileCount(rate), at: now)
        }
        // The rate has settled, so that the next step can follow at once.
        if step.isProven(by: rate) { return accept(step, rate, at: now) }
        let isWorthSome = isFirstClimb && gain >= 0.05
        // A gain that may be chance has to last for a second.
        if isWorthSome, windows.time < .seconds(1), !isLast { return }
        if isWorthSome, !step.isSettled {
            // So small a gain is judged beside a rate that has settled.
            return undo(step)
        }
        isFirstClimb = false
        let count = isWorthSome ? step.worthwhileCount(rate) : step.from
        collapse.accepted(count == step.from ? step.rate : rate)
        keep(count, at: now)
    }

    private mutating func keep(_ count: Int, at now: Duration) {
        (decided, worthwhileCount) = (count, count)
        hold(for: rejectedHold.take(), at: now)
    }

    private mutating func accept(_ step: ConnectionStep, _ rate: RateWindows.Rate, at now: Duration) {
        collapse.accepted(rate)
        worthwhileCount = step.to
        disturbedHold.reset()
        beginMeasuring(at: now)
    }

    private mutating func beginMeasuring(at now: Duration) {
        (state, frequentEnd) = (.measuring, now + Self.climbTime)
    }

    /// Returns to the number before a step, which isn't judged.
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
        worthwhileCount = decided
        collapse.halved(to: decided, at: now)
        hold(for: Self.firstHold, at: now)
    }
}
