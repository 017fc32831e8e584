/// The number of downloads of a batch that are waiting because their hosts don't answer, are unreachable, or ask for a
/// delay, or because they have failed and will be retried.
///
/// Other downloads may run in their place. A download that has sent its request to a host that doesn't answer is one of
/// them only if the downloader permits no more transfers than the batch, because a lower limit is meant for the servers.
///
/// Counting them takes time proportional to the size of the batch, so they are counted again only if the batch would
/// otherwise have no room, or if their number in the whole downloader has changed noticeably.
struct HeldUpDownloads: Sendable {
    /// The maximum number of waiting downloads in addition to the limit of the batch.
    private static let mostCount = 10_000

    /// The limit of the batch.
    private let limit: Int
    /// Whether downloads that have sent their requests may count as waiting.
    private let countsRunning: Bool
    private var count = 0
    /// The waiting downloads of the whole downloader when the batch was last counted.
    private var counted = PermitQueue.HeldUp()

    /// Creates a number for a batch without downloads.
    ///
    /// - Parameters:
    ///   - limit: The limit of the batch. Downloads of a batch with the limit 1 always run one after another.
    ///   - downloader: The downloader of the batch.
    init(limit: Int, in downloader: Downloader) {
        self.limit = limit
        countsRunning = limit >= downloader.configuration.largestTransferCount
    }

    /// Returns whether the batch has room for another download.
    ///
    /// - Parameters:
    ///   - downloads: The downloads of the batch that haven't ended.
    ///   - outcomeCount: The number of ended downloads that count toward the limit.
    ///   - all: The waiting downloads of the whole downloader, read before `downloads` are counted.
    mutating func leaveRoom(
        among downloads: some Collection<Download>, outcomeCount: Int = 0, _ all: PermitQueue.HeldUp
    ) -> Bool {
        let usedCount = downloads.count + outcomeCount
        if usedCount < limit { return true }
        guard limit > 1 else { return false }
        let change = all.changeCount - counted.changeCount
        if change < max(16, count / 16), usedCount < limit + min(count, Self.mostCount) { return true }
        guard change >= max(1, usedCount / 64) else { return false }
        counted = all
        count = downloads.count { $0.isHeldUp(countsRunning: countsRunning) }
        return usedCount < limit + min(count, Self.mostCount)
    }
}

extension Download {
    /// Returns whether the download is waiting because of the state of its origin, or for a retry.
    ///
    /// - Parameter countsRunning: Whether it counts while a silent origin hasn't answered its request.
    fileprivate func isHeldUp(countsRunning: Bool) -> Bool {
        guard let transfer = foregroundTransfer else { return false }
        let (ticket, isBackingOff) =
            switch transfer.currentStage {
            case .queued(let queued): (queued.ticket, false)
            case .active(let active): active.withState { ($0.permit.ticket, $0.machine.phase.isBeforeRetry) }
            }
        return ticket.map { transfer.environment.scheduler.isHeldUp($0, countsRunning: countsRunning) } ?? isBackingOff
    }
}
