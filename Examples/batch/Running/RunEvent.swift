internal import AsyncDownloads

/// An event of one download, with its context in the run.
struct RunEvent: Sendable {
    var item: Item
    /// The time since the start of the run.
    var time: Duration
    /// The time since the start of the download.
    var elapsed: Duration
    /// The number of body bytes received from the network; the bytes of a shared transfer count for one download only.
    var fetched: Int64
    /// The library's event, or the error that ended the download.
    var what: Result<DownloadEvent, DownloadError>
}
