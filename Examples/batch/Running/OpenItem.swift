internal import AsyncDownloads
internal import Foundation

/// An item whose download has started: the download from its address or, if that failed, from one of its mirrors.
///
/// This is a class, and most functions aren't inlined, because the variables of a task take memory for as long as the
/// task waits, and thousands of tasks wait while a host can't be reached.
final class OpenItem {
    private(set) var download: Download
    private let item: Item
    private var plan: MirrorPlan
    /// The item with the current address, and with the name that follows from the first one.
    private var shown: Item
    private let start: Duration
    /// The number of bytes received from the addresses before the current one.
    private var earlierByteCount: Int64 = 0
    /// The number of bytes received from the network according to the last event that states it, or to the failure; a
    /// shared transfer counts for its first download only.
    private(set) var fetchedByteCount: Int64 = 0
    private var switchCount = 0
    /// Whether the download was canceled in favor of another address.
    private(set) var isLeaving = false

    @inline(never)
    init(_ item: Item, _ download: Download, at start: Duration) {
        (self.item, self.download, self.start) = (item, download, start)
        (plan, shown) = (MirrorPlan(item), item)
    }

    var id: Int { item.id }
    var checksum: Checksum? { item.checksum }

    /// Handles that the current download has ended with an error.
    func failed() { update(download.progress.fetchedByteCount) }

    private func update(_ currentByteCount: Int64) {
        fetchedByteCount = earlierByteCount + (download.isCoalesced ? 0 : currentByteCount)
    }

    /// Returns an event of the current download.
    ///
    /// - Parameters:
    ///   - received: The time when the event was received; computing a digest doesn't count for the download.
    ///   - now: The time when the event is shown.
    @inline(never)
    func event(_ event: DownloadEvent, received: Duration, sha256: String?, at now: Duration) -> RunEvent {
        switch event {
        case .progress(let progress): update(progress.fetchedByteCount)
        case .finished(let file): update(file.fetchedByteCount)
        default: break
        }
        return runEvent(.success(event), received: received, sha256: sha256, at: now)
    }

    /// Returns the event of an error that ends the last download.
    func failure(_ error: DownloadError, at now: Duration) -> RunEvent { runEvent(.failure(error), at: now) }

    /// Cancels the download if it waits for its host, although another address hasn't been tried; returns whether it does.
    ///
    /// A download that has received many bytes waits, unless a checksum proves that another server has the same object.
    @inline(never)
    func leaveAddress(after event: DownloadEvent) -> Bool {
        guard case .waiting(let reason) = event, reason.isOfHost, plan.hasUntriedAddress else { return false }
        let coolDown = reason.isCoolDown ? reason.end.map { Duration.seconds($0.timeIntervalSinceNow) } : nil
        let delay = coolDown ?? Self.assumedOutage
        let isWorthwhile = checksum != nil || download.progress.receivedByteCount < RetryPolicy.bytesWorth(delay)
        guard delay >= Self.shortestDelay, isWorthwhile else { return false }
        isLeaving = true
        download.cancel()
        return true
    }

    private static let shortestDelay = Duration.milliseconds(500)
    private static let assumedOutage = Duration.seconds(30)

    /// Selects the next address, and returns the event that announces it; nil if no address is left.
    func selectAddress(after error: DownloadError, at now: Duration) -> RunEvent? {
        let error = isLeaving && error.code == .cancelled ? Self.hostAwaited(shown.address) : error
        guard plan.advance(after: error) else { return nil }
        switchCount += 1
        return runEvent(.success(.retrying(attempt: switchCount, delay: .zero, error: error)), at: now)
    }

    /// Replaces the download with one from the selected address.
    @inline(never)
    func startAtSelectedAddress(_ start: (Item, MirrorPlan) -> Download) {
        earlierByteCount = fetchedByteCount
        // The file keeps the name that follows from the first address.
        if shown.output == nil { shown.numberedName = item.fileName }
        shown.address = plan.address
        isLeaving = false
        download = start(item, plan)
    }

    private static func hostAwaited(_ address: Address) -> DownloadError {
        DownloadError(.cannotConnect, "the host can't be reached, or asks to wait", url: address.url)
    }

    private func runEvent(
        _ what: Result<DownloadEvent, DownloadError>, received: Duration? = nil, sha256: String? = nil,
        at now: Duration
    ) -> RunEvent {
        RunEvent(
            shown, original: item, time: now, elapsed: (received ?? now) - start, fetched: fetchedByteCount,
            sha256: sha256, what)
    }
}
