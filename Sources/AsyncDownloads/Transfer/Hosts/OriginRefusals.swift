/// The refusals of an origin (429 or 503) and its failures (such as 502, or no response) since it last accepted a
/// request.
///
/// A failure, or a refusal that states no time, may concern its resource only, or be an exception. If several different
/// resources in a row are refused or fail, or if many of the latest requests were refused, the origin is concerned.
struct OriginRefusals: Sendable {
    /// The outcome of a request that wasn't accepted.
    enum Kind: Sendable, Hashable {
        /// A response with the status 429 or 503.
        case refusal
        /// Another response that may be different later.
        case failure
        /// No response has arrived within the idle timeout.
        case noResponse
    }

    /// The number of different resources in a row from which the origin is concerned.
    private static let mostResources = 8
    /// The number of assumed cool-downs in a row that are short.
    private static let shortCount = 200
    /// The number of assumed cool-downs in a row from which the state is reported.
    private static let lastingCount = 4
    private static let (shortTime, longTime) = (Duration.milliseconds(250), Duration.seconds(1))
    /// The longest recorded interval between accepted requests; an origin that accepts fewer is assumed to have failed.
    private static let longestInterval = Duration.seconds(10)
    /// The time after which the waiting transfers of an origin fail, if it has never accepted a request, and if it has.
    private static let (firstPatience, patience) = (Duration.seconds(60), Duration.seconds(300))

    /// The numbers of cool-downs in a row whose times were assumed, and stated; requests that were sent before one had
    /// begun count once.
    private var assumedCount = 0
    private var statedCount = 0
    /// The number of requests without a response during the assumed cool-downs, since the patience is counted.
    private var unansweredCount = 0
    /// Whether a cool-down's time was stated since the origin last accepted a request.
    private var hasStated = false
    /// The time from which the patience is counted.
    private var start = Duration.zero
    /// The number of the last request that was sent before the last cool-down began.
    private var lastNumber = 0
    private var hasAccepted: Bool
    /// The time at which the last accepted request was sent.
    private var lastAcceptance = Duration.zero
    /// The last two times between accepted requests; zero if the origin had no assumed cool-down between them.
    ///
    /// The shorter one is used, because one of them may contain an outage.
    private var intervals = (Duration.zero, Duration.zero)
    /// The resources in a row that were refused without a time, or have failed.
    private var resources: Set<ResourceID> = []
    /// The share of refusals without a time; in a row, each resource counts once.
    private var share = LossRatio()

    /// - Parameter hasAccepted: Whether the origin has accepted a request before.
    init(hasAccepted: Bool) {
        self.hasAccepted = hasAccepted
    }

    /// Whether nothing was refused and nothing has failed since the origin last accepted a request.
    var isEmpty: Bool { resources.isEmpty && assumedCount == 0 && !hasStated }

    /// Whether the last cool-down whose time was stated is the only one since the origin last accepted a request.
    private(set) var isFirstStated = false

    /// Whether so many cool-downs were assumed that the state is reported.
    var lasts: Bool { assumedCount >= Self.lastingCount }

    /// Returns the end of a cool-down that begins now, if no time was stated.
    ///
    /// An origin may accept one request at a time, in regular intervals.
    func assumedEnd(at now: Duration) -> Duration {
        let time = assumedCount > Self.shortCount ? Self.longTime : Self.shortTime
        return max(now + time, lastAcceptance + min(intervals.0, intervals.1) - Self.shortTime)
    }

    /// Whether the recorded failures and refusals concern the origin.
    var concernOrigin: Bool {
        assumedCount > 0 || resources.count >= Self.mostResources || share.isVeryHigh
    }

    /// Returns whether a resource, and others, were refused or have failed since the origin last accepted a request.
    func isRepeated(_ resource: ResourceID) -> Bool { resources.count > 1 && resources.contains(resource) }

    /// The waiting transfers fail if their policies permit at most this number of retries.
    ///
    /// - Parameters:
    ///   - isTimed: Whether the last refusal has stated a time.
    ///   - isResponse: Whether a response has arrived. Otherwise, few requests fit into the patience, and a transfer waits
    ///     for as many as its policy permits retries.
    func failingRetryLimit(isTimed: Bool = false, afterResponse isResponse: Bool = true, at now: Duration) -> Int {
        if isTimed { return statedCount - RetryBudget.maximumCoolDownCount - 1 }
        guard now - start >= (hasAccepted ? Self.patience : Self.firstPatience) else { return -1 }
        return isResponse ? .max : unansweredCount
    }

    /// Returns whether a request was sent before the last cool-down began.
    func isLate(_ number: Int) -> Bool { number <= lastNumber }

    /// Records that the origin has accepted a request.
    ///
    /// - Parameter sent: The time at which the request was sent, or a later one.
    mutating func accepted(_ number: Int, sentAt sent: Duration, at now: Duration) {
        share.add(isLoss: false)
        defer { (resources, hasAccepted, start) = ([], true, now) }
        guard !isLate(number) else { return }
        let isRegular = hasAccepted && assumedCount > 0 && sent - lastAcceptance <= Self.longestInterval
        (intervals, lastAcceptance) = ((intervals.1, isRegular ? sent - lastAcceptance : .zero), sent)
        (assumedCount, statedCount, unansweredCount, hasStated) = (0, 0, 0, false)
    }

    /// Restarts the time for which transfers wait, and the counts of stated times and of requests without a response.
    ///
    /// The reason is that a transfer is receiving from the origin, that there was no transfer, or that none had a permit
    /// for a long time.
    mutating func restartPatience(at now: Duration) {
        (statedCount, unansweredCount, start) = (0, 0, now)
    }

    /// Records a failure, or a refusal without a time.
    mutating func add(_ resource: ResourceID, _ kind: Kind) {
        // A larger number has no other meaning.
        guard resources.count < Self.mostResources, resources.insert(resource).inserted, kind == .refusal else {
            return
        }
        share.add(isLoss: true)
    }

    /// Records that a cool-down begins; returns false if it had begun before, since the request was sent before that.
    ///
    /// - Parameters:
    ///   - number: The number of the request that was refused, or has failed.
    ///   - lastNumber: The number of the last request that was begun.
    ///   - kind: The outcome of that request.
    ///   - statedTime: The time that the response states, if it states one.
    @discardableResult
    mutating func coolDown(
        after number: Int, _ kind: Kind, lastNumber: Int, statedTime: Duration? = nil, at now: Duration
    ) -> Bool {
        // The stated time doesn't count as patience.
        if let statedTime { start = max(start, now + statedTime) }
        guard !isLate(number) else { return false }
        if statedTime != nil {
            statedCount += 1
            (isFirstStated, hasStated) = (!hasStated, true)
        } else {
            if assumedCount == 0 {
                start = now
            } else if kind == .noResponse {
                unansweredCount += 1
            }
            assumedCount += 1
        }
        self.lastNumber = lastNumber
        return true
    }
}
