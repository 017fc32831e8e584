/// The number of downloads of a batch that wait because their hosts can't be reached or ask to wait.
///
/// They leave their places in the batch to others. Counting them takes a step for each download, so it is repeated only if
/// the batch has no room otherwise, or if their number in the whole downloader has changed by a part.
struct HeldUpDownloads: Sendable {
    /// The most downloads that wait beside those within the limit of the batch.
    private static let mostCount = 10_000

    private var count = 0
    /// The waiting downloads of the whole downloader when those of the batch were last counted.
    private var counted = PermitQueue.HeldUp()

    /// Returns whether the batch has room for another download.
    ///
    /// - Parameters:
    ///   - downloads: The downloads of the batch that haven't ended.
    ///   - outcomeCount: The number of ended ones that count toward the limit.
    ///   - all: The waiting ones in the whole downloader, read before `downloads` are counted.
    ///   - limit: The limit of the batch. Downloads of a batch with the limit 1 run one after another in any case.
    mutating func leaveRoom(
        among downloads: some Collection<Download>, outcomeCount: Int = 0, _ all: PermitQueue.HeldUp, limit: Int
    ) -> Bool {
        let usedCount = downloads.count + outcomeCount
        if usedCount < limit { return true }
        guard limit > 1 else { return false }
        let change = all.changeCount - counted.changeCount
        if change < max(16, count / 16), usedCount < limit + min(count, Self.mostCount) { return true }
        guard change > 0 else { return false }
        counted = all
        count = all.count == 0 ? 0 : downloads.count(where: \.isHeldUp)
        return usedCount < limit + min(count, Self.mostCount)
    }
}

extension Download {
    /// Whether the download waits because its origin can't be reached or asks to wait.
    fileprivate var isHeldUp: Bool {
        guard let transfer = foregroundTransfer else { return false }
        let ticket =
            switch transfer.currentStage {
            case .queued(let queued): queued.ticket
            case .active(let active): active.withState { $0.permit.ticket }
            }
        return ticket.map { transfer.environment.scheduler.hindrance(of: $0) != nil } ?? false
    }
}
