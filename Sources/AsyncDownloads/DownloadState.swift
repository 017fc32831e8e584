/// The state of a download.
public enum DownloadState: String, Sendable, Hashable, CaseIterable {
    /// The download hasn't started.
    case ready
    /// The download is waiting for its turn.
    case waiting
    /// The download is connecting or receiving.
    case downloading
    /// An attempt failed, and the download is waiting for the next one.
    case retrying
    /// The download has stopped, and its bytes are kept.
    ///
    /// When the last download of a transfer is paused while it receives, the state is ``downloading`` until the bytes
    /// are stored. In a background session, it changes at once.
    case paused
    /// Every byte has been received; the file is being verified and placed at its destination.
    case verifying
    /// The file is at its destination.
    case completed
    /// This handle was canceled.
    case cancelled
    /// The download ended with an error.
    case failed

    /// A Boolean value that indicates whether the state is final.
    public var isFinal: Bool {
        switch self {
        case .completed, .cancelled, .failed: true
        case .ready, .waiting, .downloading, .retrying, .paused, .verifying: false
        }
    }
}
