internal import AsyncDownloads
internal import Foundation

/// An event of one download, with its context in the run.
///
/// This is a class because the variables of a task take memory for as long as the task waits, and thousands of tasks
/// wait while a host can't be reached.
final class RunEvent: Sendable {
    /// The item with the address and the name that are shown.
    let item: Item
    /// The item as it was before mirrors were tried.
    let original: Item
    /// The time since the start of the run.
    let time: Duration
    /// The date of the event.
    let date: Date
    /// The time since the start of the download.
    let elapsed: Duration
    /// The number of body bytes received from the network; the bytes of a shared transfer count for one download only.
    let fetched: Int64
    /// The SHA-256 digest of a finished file, if it was computed.
    let sha256: String?
    /// The library's event, or the error that ended the download.
    let what: Result<DownloadEvent, DownloadError>

    /// Creates an event.
    ///
    /// - Parameter original: The item as it was before mirrors were tried; nil if none was.
    init(
        _ item: Item, original: Item? = nil, time: Duration, date: Date = Date(), elapsed: Duration = .zero,
        fetched: Int64 = 0, sha256: String? = nil, _ what: Result<DownloadEvent, DownloadError>
    ) {
        self.item = item
        self.original = original ?? item
        self.time = time
        self.date = date
        self.elapsed = elapsed
        self.fetched = fetched
        self.sha256 = sha256
        self.what = what
    }

    /// The time for which the download waits for its host; nil if the event isn't a wait of known length.
    var waitingTime: Duration? {
        guard case .success(.waiting(let reason)) = what, let end = reason.end else { return nil }
        return .seconds(max(0, end.timeIntervalSince(date)))
    }

    /// Whether the event is the error that ended the download.
    var isFailure: Bool {
        if case .failure = what { true } else { false }
    }

    /// The path of a finished file in the output directory.
    func path(of file: DownloadedFile) -> String {
        (item.output?.path ?? item.path(named: file.url.lastPathComponent)).distinctFromOptions
    }
}

extension WaitingReason {
    /// Whether the server has asked for a delay.
    var isCoolDown: Bool { name == Self.coolDown(until: .distantPast).name }

    /// Whether the server is the reason for the wait.
    var isOfHost: Bool { end != nil || self == .noResponse }
}
