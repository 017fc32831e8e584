/// Files that are at the destinations already (rules 61 to 63).
extension TransferStateMachine {
    /// The representation of the files at the destinations, if the next request asks whether it has changed (rule 62).
    var askedRepresentation: ExistingRepresentation? {
        // Without an account, nothing says whose files they are. A fresh URL may have brought secret headers.
        guard bytes.intervals.isEmpty, !strategy.ignoresExisting, credentials.isEmpty || settings.account != nil else {
            return nil
        }
        return run.existing
    }

    /// Whether subscribers may be served with files that they have already.
    var mayReuse: Bool {
        switch state {
        case .opening(.transferring), .closing(.reusing): intent == .run
        default: false
        }
    }

    /// The validator of the files at the destinations, which the server has confirmed, while the partial file is closed.
    var confirmedValidator: Validator? {
        if case .closing(.reusing(let validator)) = state { return validator }
        return nil
    }

    /// Ends the transfer because every subscriber has a file already; the partial file is not open, or was closed.
    mutating func reused(
        _ results: [SubscriberID: Result<DownloadedFile, DownloadError>]
    ) -> [TransferAction] {
        switch state {
        case .opening(.transferring), .closing(.reusing): break
        default: preconditionFailure("reused in \(phase)")
        }
        return [.releasePermit] + end(.finished(results))
    }
}
