internal import AsyncDownloads
internal import Foundation

/// An event of one download, with its context in the run.
struct RunEvent: Sendable {
    var item: Item
    /// The time since the start of the run.
    var time: Duration
    /// The time since the start of the download.
    var elapsed: Duration
    /// The number of body bytes received from the network; the bytes of a shared transfer count for one download only.
    var fetched: Int64
    /// The SHA-256 digest of a finished file, if it was computed.
    var sha256: String?
    /// The library's event, or the error that ended the download.
    var what: Result<DownloadEvent, DownloadError>

    /// The path of a finished file in the output directory.
    func path(of file: DownloadedFile) -> String {
        (item.output?.path ?? item.path(named: file.url.lastPathComponent)).distinctFromOptions
    }
}
