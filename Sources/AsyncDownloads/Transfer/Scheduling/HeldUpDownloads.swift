/// The number of downloads of a batch that wait because their hosts can't be reached or ask to wait.
///
/// They leave their places in the batch to others. Counting them takes a step for each download, so it is repeated only
/// after their number in the whole downloader has changed by a part.
struct HeldUpDownloads: Sendable {
    /// The most downloads that wait beside those within the limit of the batch.
    private static let mostCount = 10_000

    private var count = 0
    /// The number in the whole downloader when they were last counted.
    private var countedTotal = 0

    /// Records that a download of the batch has ended, which may have been one of them.
    mutating func ended() {
        count = max(0, count - 1)
    }

    /// Returns the number of such downloads, as far as they are counted.
    ///
    /// - Parameters:
    ///   - total: The number in the whole downloader.
    ///   - limit: The limit of the batch. Downloads of a batch with the limit 1 run one after another in any case.
    mutating func count(of downloads: some Collection<Download>, total: Int, _ limit: Int) -> Int {
        guard limit > 1 else { return 0 }
        if abs(total - countedTotal) >= max(1, min(limit / 2, count / 8)) {
            countedTotal = total
            count = total == 0 ? 0 : downloads.count(where: \.isHeldUp)
        }
        return min(count, total, Self.mostCount)
    }
}
