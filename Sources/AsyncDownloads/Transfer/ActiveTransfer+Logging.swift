/// The log entries of a transfer.
extension ActiveTransfer {
    /// Returns a closure that logs an event, or nil if it isn't logged.
    func logEntry(_ event: DownloadEvent) -> (@Sendable (Log) -> Void)? {
        switch event {
        case .restarted(let reason, let discarded):
            return { [redactedURL] log in
                log.notice("restarted, \(reason), \(discarded) bytes discarded", url: redactedURL)
            }
        case .retrying(let attempt, let delay, let error):
            return { [redactedURL] log in log.debug("retry \(attempt) in \(delay)", error, url: redactedURL) }
        default:
            return nil
        }
    }

    /// Returns a closure that logs the end of the transfer.
    func logEntry(_ ending: TransferEnding) -> @Sendable (Log) -> Void {
        { [redactedURL] log in
            switch ending {
            case .finished: log.debug("finished", url: redactedURL)
            case .failed(let error): log.notice("failed", error, url: redactedURL)
            case .abandoned: log.debug("ended without subscribers", url: redactedURL)
            case .discarded: log.debug("discarded", url: redactedURL)
            }
        }
    }

    private var redactedURL: String { request.url.redacted }
}
