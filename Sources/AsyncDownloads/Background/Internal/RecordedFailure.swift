/// The reason of a failure as the spool records it.
struct RecordedFailure: Sendable, Hashable, Codable {
    private enum Kind: String, Codable {
        case cancelled, userForceQuit, backgroundUpdatesDisabled, insufficientResources, fileMissing, notStored
        case interrupted, transfer
    }

    private let kind: Kind
    private var error: RecordedError?

    init(_ reason: DaemonFailure.Reason) {
        switch reason {
        case .cancelled: kind = .cancelled
        case .userForceQuit: kind = .userForceQuit
        case .backgroundUpdatesDisabled: kind = .backgroundUpdatesDisabled
        case .insufficientResources: kind = .insufficientResources
        case .fileMissing: kind = .fileMissing
        case .interrupted: kind = .interrupted
        case .notStored(let error): (kind, self.error) = (.notStored, RecordedError(error))
        case .transfer(let error): (kind, self.error) = (.transfer, RecordedError(error))
        }
    }

    var reason: DaemonFailure.Reason {
        switch kind {
        case .cancelled: .cancelled
        case .userForceQuit: .userForceQuit
        case .backgroundUpdatesDisabled: .backgroundUpdatesDisabled
        case .insufficientResources: .insufficientResources
        case .fileMissing: .fileMissing
        case .interrupted: .interrupted
        case .notStored: .notStored(error?.error ?? DownloadError(.storageFailure))
        case .transfer: .transfer(error?.error ?? DownloadError(.connectionLost))
        }
    }
}
