/// The limits on the requests to one host: the number of running transfers, and the configured pace of requests.
///
/// The first refusal of a period, and frequent losses of connections, reduce the number of transfers. Later ones are
/// ignored if their requests were sent before that. An ``OriginState`` handles the cool-down that a
/// refusal asks for.
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
        /// The connection was lost before the answer, or nothing was received.
        case lost
        /// The answer says nothing about the limits.
        case nothing
    }

    private let pace: RequestPace?
    private(set) var concurrency: ConcurrencyLimit
    /// The latest requests, if a pace is configured.
    private var log: RequestLog
    private var spacing = RequestSpacing()
    /// The number of the last request that was sent before a refusal, or frequent losses, were known.
    private var lastNumberBeforeRefusal = 0

    init(_ settings: Settings) {
        pace = settings.pace
        concurrency = ConcurrencyLimit(fixedCount: settings.transferCount)
        log = RequestLog(capacity: settings.pace?.count ?? 0)
    }

    /// Whether nothing has to be kept while the host has no requests.
    var isInitial: Bool { concurrency.isInitial && log.isEmpty }

    /// Returns the time before which no request may be sent; nil if one may be sent now.
    func nextTime(at now: Duration) -> Duration? {
        guard let pace else { return nil }
        let time = max(log.nextTime(pace) ?? .zero, spacing.nextTime(pace))
        return time > now ? time : nil
    }

    /// Reserves a request that will be sent soon.
    mutating func reserve(at now: Duration) {
        guard let pace else { return }
        log.add(now)
        spacing.add(now, pace)
    }

    /// Withdraws a request that was reserved at this time and won't be sent, if it is the latest one; the pace could be
    /// exceeded if a later one was removed instead.
    mutating func withdraw(reservedAt time: Duration) {
        guard let pace, log.latest == time else { return }
        log.removeLast()
        spacing.removeLast(pace)
    }

    /// Records that a transfer whose last request was accepted no longer runs.
    mutating func succeeded(isInDemand: Bool) {
        concurrency.succeeded(isInDemand: isInDemand)
    }

    /// Records the answer to a request, or its end without an answer.
    ///
    /// - Parameters:
    ///   - number: The number of the request.
    ///   - lastNumber: The number of the last request that was begun.
    ///   - runningCount: The number of running transfers.
    mutating func answered(_ number: Int, _ answer: Answer, lastNumber: Int, runningCount: Int, at now: Duration) {
        switch answer {
        case .nothing: return
        case .accepted: return concurrency.accepted(runningCount: runningCount, at: now)
        case .refused(let retryAfter):
            guard number > lastNumberBeforeRefusal else { return }
            concurrency.refused(runningCount: runningCount, until: now + (retryAfter ?? .zero))
        case .lost:
            guard number > lastNumberBeforeRefusal, concurrency.lost(runningCount: runningCount, at: now)
            else { return }
        }
        lastNumberBeforeRefusal = lastNumber
    }
}
