/// Decides how many connections one transfer uses.
///
/// By default it is one connection. More are tried, about twice as many in each step, and kept only if the rate
/// increases enough. What the other transfers of the downloader lose in the meantime is subtracted, so that a
/// connection which takes its rate from another file gains nothing.
struct ConnectionController: Sendable {
    /// The way in which the number is chosen.
    enum Mode: Sendable, Hashable {
        /// As many as measurably increase the rate, up to a maximum.
        case automatic(maximum: Int)
        /// A number that the caller has chosen; refusals and limits of the host reduce it.
        case fixed(Int)
    }

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
    /// The lowest bound of the last seconds.
    private var bound = Int.max
    /// When the bound last applied.
    private var boundTime = Duration.zero
    /// The number that was worth its connections according to the last judgment; nil before the first one.
    private(set) var worthwhileCount: Int?
    private var windows = RateWindows()
    private var collapse = CollapseWatch()
    private var refusals = RefusalRecord()
    /// Whether no step was rejected yet.
    private var isFirstClimb = true
    private var holdTime = Self.firstHold

    /// The time for which a larger bound has to last before it applies, so that short files don't close connections
    /// repeatedly.
    private static let boundMemory = Duration.seconds(5)
    static let firstHold = Duration.seconds(30)
    static let longestHold = Duration.seconds(600)
    /// The longest hold after another file has ended, not zero because several files may end in succession.
    private static let departureHold = Duration.seconds(1)
    /// A connection that brings less than this share of an earlier one isn't kept.
    private static let leastContribution = 0.24
    /// The shortest time for which the bytes that are left would last without a step.
    private static let leastTimeLeft = Duration.seconds(2)
    /// The fewest bytes that are left for each connection of a step.
    static let bytesPerConnection: Int64 = 4 << 20

    /// - Parameter worthwhileCount: The number that was kept in an earlier transfer from the host; it is used at once.
    init(_ mode: Mode, worthwhileCount: Int = 1, at now: Duration) {
        self.mode = mode
        switch mode {
        case .automatic(let maximum):
            decided = max(1, min(worthwhileCount, maximum))
            state = decided > 1 ? .holding(until: now + Self.firstHold) : .measuring
        case .fixed(let number):
            decided = max(1, number)
            state = .measuring
        }
    }

    /// The number of connections that the transfer may use.
    var number: Int { max(1, min(decided, bound, collapse.ceiling ?? .max, refusals.ceiling ?? .max)) }

    /// Whether a step is being judged, during which no other transfer should try one.
    var isTrying: Bool { if case .trying = state { true } else { false } }

    /// Whether the rate has collapsed in the last minutes.
    var hasCollapsed: Bool { collapse.ceiling != nil }

    /// Whether connections of a step have no segment yet.
    private var isCompletingStep: Bool { if case .trying(let step) = state { step.completedAt == nil } else { false } }

    /// Returns whether connections may be requested now: some time after a refusal none are.
    func mayRequest(at now: Duration) -> Bool { refusals.mayRequest(at: now) }
}

// MARK: - Inputs

extension ConnectionController {
    /// Handles a sample, which is due eight times a second, and returns how many connections the transfer may use.
    mutating func measure(_ sample: Sample, at now: Duration) -> Int {
        setBound(max(1, sample.bound), at: now)
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
        let rate = windows.add(sample.byteCount, others: sample.otherByteCount, at: now)
        if let rate, decided > 1, !isTrying, collapse.isDue(rate) { halve(at: now) }
        switch state {
        case .measuring: measured(sample, maximum, at: now)
        case .trying(let step): judge(step, sample, maximum, rate, at: now)
        case .holding(let end): if now >= end { state = .measuring }
        }
        return number
    }

    private mutating func setBound(_ new: Int, at now: Duration) {
        guard new <= bound || now - boundTime >= Self.boundMemory else { return }
        (bound, boundTime) = (new, now)
    }

    /// Handles a change of the other transfers, after which the rates aren't comparable with those before.
    ///
    /// A step that is being judged is undone without a penalty.
    mutating func disturbed(by disturbance: Disturbance, at now: Duration) {
        windows.void()
        // Another file's connections are tried for a short time only.
        if disturbance != .otherNumber { collapse.void() }
        if disturbance == .departure {
            // A step may gain now what it didn't before, and connections may be accepted that were refused.
            refusals.otherFileEnded()
            collapse.removeCeiling()
            if case .holding(let end) = state { state = .holding(until: min(end, now + Self.departureHold)) }
        }
        if case .trying(let step) = state { undo(step) }
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
        guard sample.mayTry, sample.mayRequest, mayRequest(at: now) else { return }
        let room = sample.remainingCount / Self.bytesPerConnection
        let ceiling = min(maximum, bound, refusals.ceiling ?? .max, collapse.ceiling ?? .max)
        let target = min(2 * decided, decided + 8, ceiling, Int(clamping: room))
        guard rate.own > 0, target > decided else { return }
        let timeLeft = Duration.seconds(Double(sample.remainingCount) / rate.own)
        guard timeLeft >= max(Self.leastTimeLeft, sample.setup * 10) else { return }
        state = .trying(ConnectionStep(from: decided, rate: rate, isSettled: isSettled, to: target, startedAt: now))
        decided = target
        windows.void()
    }

    /// - Parameter rate: The rate of the window that ends now, if one does.
    private mutating func judge(
        _ step: ConnectionStep, _ sample: Sample, _ maximum: Int, _ rate: RateWindows.Rate?, at now: Duration
    ) {
        if sample.isThrottled || !sample.mayRequest { return undo(step) }
        if !sample.mayTry {
            decided = step.from
            return hold(for: Self.firstHold, at: now)
        }
        if let rate, !windows.isBursty, step.gain(rate) >= 0.75 * step.proportion {
            collapse.accepted(rate)
            (state, worthwhileCount) = (.measuring, step.to)
            windows.void()
            // The next step doesn't wait until the rate has settled, unless it increases for another reason as well.
            let isPlausible = step.gain(rate) <= 1.5 * step.proportion
            return isPlausible ? tryMore(sample, maximum, rate, isSettled: false, at: now) : ()
        }
        var step = step
        if step.completedAt == nil, sample.segmentCount >= step.to {
            step.completedAt = now
            // What arrived while connections were set up says nothing about their number.
            windows.void()
            state = .trying(step)
        }
        let isLast = now - step.startedAt >= max(.seconds(5), sample.setup * 20)
        if let completedAt = step.completedAt, now - completedAt >= max(.milliseconds(200), sample.setup),
            let settled = windows.settled
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
        if gain >= 0.5 * step.proportion {
            // The rate has settled, so that the next step can follow at once.
            collapse.accepted(rate)
            (state, worthwhileCount) = (.measuring, step.to)
            return
        }
        let isWorthSome = isFirstClimb && gain >= 0.05
        // A gain that may be chance has to last for a second.
        if isWorthSome, windows.rates.count < 4, !isLast { return }
        if isWorthSome, !step.isSettled {
            // So small a gain is judged beside a rate that has settled.
            return undo(step)
        }
        // As many as would bring the gain if each brought as much as the earlier ones.
        let kept = isWorthSome ? Int((gain * Double(step.from) - Self.leastContribution).rounded(.up)) : 0
        isFirstClimb = false
        decided = min(step.from + kept, step.to)
        worthwhileCount = decided
        collapse.accepted(decided == step.from ? step.rate : rate)
        hold(for: holdTime, at: now)
        holdTime = min(holdTime * 2, Self.longestHold)
    }

    /// Returns to the number before a step, which isn't judged.
    private mutating func undo(_ step: ConnectionStep) {
        (decided, state) = (step.from, .measuring)
        windows.void()
    }

    private mutating func hold(for time: Duration, at now: Duration) {
        state = .holding(until: now + time)
        windows.void()
    }

    private mutating func halve(at now: Duration) {
        decided = max(1, decided / 2)
        worthwhileCount = decided
        collapse.halved(to: decided, at: now)
        hold(for: Self.firstHold, at: now)
    }
}
