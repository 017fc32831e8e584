/// The log entries of a transfer.
extension ActiveTransfer {
    /// Returns a closure that logs an event, or nil if it isn't logged.
    func logEntry(_ event: DownloadEvent) -> (@Sendable (Log) -> Void)? {
        switch event {
        case .restarted(let reason, let discarded):
            return { [redactedURL] log in
                log.notice("restarted, \(reason), \(discarded) bytes discarded [\(redactedURL)]")
            }
        case .retrying(let attempt, let delay, let error):
            return { [redactedURL] log in
                log.debug("retry \(attempt) in \(delay) after \(error) [\(redactedURL)]")
            }
        default:
            return nil
        }
    }

    private var redactedURL: String { request.url.redacted }
}
