internal import Foundation

extension SubscriberSet {
    /// Ends every subscriber without an outcome.
    mutating func end(
        _ ending: TransferEnding, at progress: DownloadProgress = DownloadProgress()
    ) -> [DeferredEffect] {
        var effects: [DeferredEffect] = []
        for (id, subscriber) in Array(active) {
            let outcome: Outcome
            switch ending {
            case .finished(let results):
                outcome = results[id] ?? .failure(DownloadError(.storageFailure, "the file was not placed"))
            case .failed(let error):
                outcome = .failure(error)
            case .abandoned, .discarded:
                outcome = .failure(DownloadError(.cancelled))
            }
            effects += end(id, outcome.concerning(subscriber.request.url), at: progress)
        }
        return effects
    }
}

extension Result where Failure == DownloadError {
    /// Returns the same result, with the requested URL in the error.
    func concerning(_ url: URL) -> Self {
        mapError { $0.concerning(url) }
    }
}

extension Subscriber.Outcome {
    /// Whether the download has ended because the downloader was shut down.
    var isShutdown: Bool { if case .failure(let error) = self { error.code == .shutDown } else { false } }
}
