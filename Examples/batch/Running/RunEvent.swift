#if ServerStack
internal import AsyncDownloads

/// What one download told, in the terms of the whole run.
struct RunEvent: Sendable {
    var item: Item
    /// Since the run began.
    var time: Duration
    /// Since the download was asked for.
    var elapsed: Duration
    /// Body bytes that crossed the network for it, each counted for one download only.
    var fetched: Int64
    /// The library's event, or the error that ended the download.
    var what: Result<DownloadEvent, DownloadError>
}
#endif
