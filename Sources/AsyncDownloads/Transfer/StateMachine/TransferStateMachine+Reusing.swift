/// Files that already exist at the destinations (rules 61 to 63).
extension TransferStateMachine {
    /// The representation of the files at the destinations, if the next request checks whether it has changed (rule
    /// 62).
    var askedRepresentation: ExistingRepresentation? {
        mayUseExisting ? run.existing : nil
    }

    /// Whether files at the destinations may be used instead of a body.
    private var mayUseExisting: Bool {
        // Without an account, the user of the files is unknown. A fresh URL may have added secret headers.
        bytes.intervals.isEmpty && !strategy.ignoresExisting && (credentials.isEmpty || settings.account != nil)
    }

    /// Returns whether subscribers may receive files that already exist.
    ///
    /// - Parameter permit: The refused permit for which the transfer still has to be waiting; nil if its partial file is
    ///   being opened, or was closed.
    func mayReuse(refused permit: PermitRequestID? = nil) -> Bool {
        switch state {
        case .opening(.transferring), .closing(.reusing): intent == .run && permit == nil
        case .waiting(let present, _): intent == .run && permit == present
        default: false
        }
    }

    /// The files that the server has confirmed, while the partial file is closed.
    var confirmedFiles: ConfirmedFiles? {
        if case .closing(.reusing(let files)) = state { return files }
        return nil
    }

    /// Whether the response may describe files that already exist under the name that it suggests.
    var mayFindFiles: Bool {
        isRunning && intent == .run && !bytes.isPartialFilled && mayUseExisting
    }

    /// Handles that the response describes the files at the destinations, before its body is received; returns nil if the
    /// body is needed nevertheless.
    mutating func foundFiles(
        _ existing: ExistingRepresentation, exchange id: ExchangeID, at now: Duration
    ) -> [TransferAction]? {
        guard isHeldBack(id), mayFindFiles else { return nil }
        bytes.forgetEmptyRepresentation()
        run.existing = existing
        return drain(.reuse, at: now)
    }

    /// Ends the transfer because every subscriber already has a file; the partial file is not open, or was closed.
    mutating func reused(
        _ results: [SubscriberID: Result<DownloadedFile, DownloadError>]
    ) -> [TransferAction] {
        switch state {
        case .opening(.transferring), .closing(.reusing), .waiting: break
        default: preconditionFailure("reused in \(phase)")
        }
        return [.releasePermit] + end(.finished(results))
    }
}

/// The representation that all destinations of a transfer already have, according to their records.
struct ExistingRepresentation: Sendable, Hashable {
    /// The strong validator, which is sent as a condition.
    var validator: Validator
    /// The recorded metadata; the length and the media type identify a page that must not replace the files (rule 31).
    var representation: Representation
    /// Whether a response without a validator is inconclusive, because the files may have come from another URL (rule
    /// 10).
    var requiresValidator: Bool
}

/// The files at the destinations that the server has confirmed.
struct ConfirmedFiles: Sendable, Hashable {
    var validator: Validator
    /// The name of the files, if the server has suggested it.
    var suggestedName: String?
}
