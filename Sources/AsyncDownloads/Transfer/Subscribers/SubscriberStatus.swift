internal import struct Foundation.Date

/// The status of a download from the perspective of its subscriber.
struct SubscriberStatus: Sendable, Hashable {
    var state = DownloadState.failed
    var progress = DownloadProgress()
    /// The reason why the download is waiting; nil if it isn't waiting.
    var waitingReason: WaitingReason?
    /// The error that ended the download, or the error of the last attempt while the download waits for the next one.
    var error: DownloadError?
    /// The time of the next attempt, if it is known.
    var nextAttempt: Date?
    /// The finished file.
    var file: DownloadedFile?

    /// Returns the status of a subscriber that has its outcome.
    static func ended(_ outcome: Subscriber.Outcome, _ progress: DownloadProgress) -> Self {
        switch outcome {
        case .success(let file):
            var progress = progress
            (progress.receivedByteCount, progress.expectedByteCount) = (file.byteCount, file.byteCount)
            progress.timeRemaining = nil
            return Self(state: .completed, progress: progress, file: file)
        case .failure(let error):
            return Self(state: error.code == .cancelled ? .cancelled : .failed, progress: progress, error: error)
        }
    }
}

/// A failed attempt, and the time of the next one.
struct FailedAttempt: Sendable, Hashable {
    var error: DownloadError
    var nextAttempt: Date

    /// - Parameters:
    ///   - delay: The time until the next attempt.
    ///   - date: The present date.
    init(_ error: DownloadError, retriedAfter delay: Duration, at date: HTTPDate) {
        self.error = error
        nextAttempt = Date(timeIntervalSince1970: Double(date.secondsSinceEpoch)).addingTimeInterval(
            delay / .seconds(1))
    }
}
