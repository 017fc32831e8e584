/// Where a download stands.
public enum DownloadState: String, Sendable, Hashable, CaseIterable {
    /// Nothing has happened.
    case ready
    /// It waits for its turn.
    case waiting
    /// It connects, or receives.
    case downloading
    /// An attempt failed; the next one waits.
    case retrying
    /// It has stopped and keeps its bytes.
    case paused
    /// Every byte is there; the file is checked and put in place.
    case verifying
    /// The file is at its destination.
    case completed
    /// This handle has left.
    case cancelled
    /// It ended with an error.
    case failed

    /// Whether nothing can follow.
    public var isFinal: Bool {
        switch self {
        case .completed, .cancelled, .failed: true
        case .ready, .waiting, .downloading, .retrying, .paused, .verifying: false
        }
    }
}
