/// The network path that the system would choose for a new connection.
package struct NetworkPath: Sendable, Hashable {
    /// Whether a network is available.
    package var isSatisfied = true
    /// Whether the network is a cellular one.
    package var usesCellular = false
    /// Whether the system considers the network expensive.
    package var isExpensive = false
    /// Whether the network is in Low Data Mode.
    package var isConstrained = false

    /// Creates a path that every download may use.
    package init() {}
}

/// The reason why a download can't use the present network path.
enum NetworkHindrance: Sendable, Hashable {
    case noNetwork, notPermitted

    var waitingReason: WaitingReason {
        switch self {
        case .noNetwork: .connectivity
        case .notPermitted: .networkNotPermitted
        }
    }

    /// The error of a download that doesn't wait.
    var error: DownloadError {
        switch self {
        case .noNetwork: DownloadError(.notConnected)
        case .notPermitted: DownloadError(.networkNotPermitted)
        }
    }
}
