/// Files that already exist at the destinations (rules 61 to 63).
extension TransferStateMachine {
    /// The representation of the files at the destinations, if the next request checks whether it has changed (rule
    /// 62).
    var askedRepresentation: ExistingRepresentation? {
        // Without an account, the user of the files is unknown. A fresh URL may have added secret headers.
        guard bytes.intervals.isEmpty, !strategy.ignoresExisting, credentials.isEmpty || settings.account != nil else {
            return nil
        }
        return run.existing
    }

    /// Whether subscribers may receive files that already exist.
    var mayReuse: Bool {
        switch state {
        case .opening(.transferring), .closing(.reusing): intent == .run
        default: false
        }
    }

    /// The validator that the server has confirmed for the files at the destinations, while the partial file is closed.
    var confirmedValidator: Validator? {
        if case .closing(.reusing(let validator)) = state { return validator }
        return nil
    }

    /// Ends the transfer because every subscriber already has a file; the partial file is not open, or was closed.
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
