/// The number of downloads of a batch that are waiting because their hosts don't answer, are unreachable, or ask for a
/// delay, or because they have failed and will be retried.
///
/// Other downloads may run in their place. Counting them takes time proportional to the size of the batch, so they are
/// counted again only if the batch would otherwise have no room, or if their number in the whole downloader has changed
/// noticeably.
struct HeldUpDownloads: Sendable {
    /// The maximum number of waiting downloads in addition to the limit of the batch.
    private static let mostCount = 10_000

    private var count = 0
    /// The waiting downloads of the whole downloader when the batch was last counted.
    private var counted = PermitQueue.HeldUp()

    /// Returns whether the batch has room for another download.
    ///
    /// - Parameters:
    ///   - downloads: The downloads of the batch that haven't ended.
    ///   - outcomeCount: The number of ended downloads that count toward the limit.
    ///   - all: The waiting downloads of the whole downloader, read before `downloads` are counted.
    ///   - limit: The limit of the batch. Downloads of a batch with the limit 1 always run one after another.
    mutating func leaveRoom(
        among downloads: some Collection<Download>, outcomeCount: Int = 0, _ all: PermitQueue.HeldUp, limit: Int
    ) -> Bool {
        let usedCount = downloads.count + outcomeCount
        if usedCount < limit { return true }
        guard limit > 1 else { return false }
        let change = all.changeCount - counted.changeCount
        if change < max(16, count / 16), usedCount < limit + min(count, Self.mostCount) { return true }
        guard change >= max(1, usedCount / 64) else { return false }
        counted = all
        count = downloads.count(where: \.isHeldUp)
        return usedCount < limit + min(count, Self.mostCount)
    }
}

extension Download {
    /// Whether the download is waiting because of the state of its origin, or for a retry.
    fileprivate var isHeldUp: Bool {
        guard let transfer = foregroundTransfer else { return false }
        let (ticket, isBackingOff) =
            switch transfer.currentStage {
            case .queued(let queued): (queued.ticket, false)
            case .active(let active): active.withState { ($0.permit.ticket, $0.machine.phase.isBeforeRetry) }
            }
        return ticket.map { transfer.environment.scheduler.isHeldUp($0) } ?? isBackingOff
    }
}
