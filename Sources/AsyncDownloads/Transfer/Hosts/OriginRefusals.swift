/// The refusals of an origin (429 or 503) and its failures (such as 502) since it last accepted a request.
///
/// A failure, or a refusal that states no time, may concern its resource only, or be an exception. If several different
/// resources in a row are refused or fail, or if many of the latest requests were refused, the origin is concerned.
struct OriginRefusals: Sendable {
    /// The number of different resources in a row from which the origin is concerned.
    private static let mostResources = 8
    /// The number of cool-downs in a row that are short.
    private static let shortCount = 20
    private static let (shortTime, longTime) = (Duration.milliseconds(250), Duration.seconds(1))
    /// The time after which the waiting transfers of an origin fail, if it has never accepted a request, and if it has.
    private static let (firstPatience, patience) = (Duration.seconds(60), Duration.seconds(300))

    /// The number of cool-downs in a row; requests that were sent before one had begun count once.
    private var count = 0
    /// The time of the first one, or the end of the last one whose time was stated.
    private var start = Duration.zero
    /// The number of the last request that was sent before the last cool-down began.
    private var lastNumber = 0
    private var hasAccepted: Bool
    /// The resources in a row that were refused without a time, or have failed.
    private var resources: Set<ResourceID> = []
    /// The share of refusals without a time; in a row, each resource counts once.
    private var share = LossRatio()

    /// - Parameter hasAccepted: Whether the origin has accepted a request before.
    init(hasAccepted: Bool) {
        self.hasAccepted = hasAccepted
    }

    /// Whether the last cool-down is the only one since the origin has accepted a request.
    var isFirst: Bool { count == 1 }

    /// The time that is assumed for a cool-down, if none was stated.
    var assumedTime: Duration { count > Self.shortCount ? Self.longTime : Self.shortTime }

    /// Whether the recorded failures and refusals concern the origin.
    var concernOrigin: Bool { count > 0 || resources.count >= Self.mostResources || share.isVeryHigh }

    /// The waiting transfers fail if their policies permit at most this number of retries.
    ///
    /// - Parameter isTimed: Whether the last refusal has stated a time.
    func failingRetryLimit(isTimed: Bool, at now: Duration) -> Int {
        if isTimed { return count - RetryBudget.maximumCoolDownCount - 1 }
        return now - start >= (hasAccepted ? Self.patience : Self.firstPatience) ? .max : -1
    }

    /// Records that the origin has accepted a request.
    mutating func accepted(_ number: Int) {
        share.add(isLoss: false)
        (resources, hasAccepted) = ([], true)
        if number > lastNumber { count = 0 }
    }

    /// Records a failure, or a refusal without a time.
    mutating func add(_ resource: ResourceID, isFailure: Bool) {
        // A larger number has no other meaning.
        guard resources.count < Self.mostResources, resources.insert(resource).inserted, !isFailure else { return }
        share.add(isLoss: true)
    }

    /// Records that a cool-down begins; returns false if it had begun before, since the request was sent before that.
    ///
    /// - Parameters:
    ///   - number: The number of the request that was refused, or has failed.
    ///   - lastNumber: The number of the last request that was begun.
    ///   - statedTime: The time that the response states, if it states one.
    @discardableResult
    mutating func coolDown(
        after number: Int, lastNumber: Int, statedTime: Duration? = nil, at now: Duration
    ) -> Bool {
        guard number > self.lastNumber else { return false }
        if count == 0 || statedTime != nil { start = now + (statedTime ?? .zero) }
        (count, self.lastNumber) = (count + 1, lastNumber)
        return true
    }
}
