/// The network path, and the networks that the subscribers permit.
///
/// Every request for a permit and every request of an exchange respects the path. A transfer that may not use the path
/// closes its partial file like a paused transfer, so its bytes are on disk, and no retry is used.
extension TransferStateMachine {
    /// The reason why no request may be sent now; nil if a request may be sent.
    var networkHindrance: NetworkHindrance? {
        guard let hindrance = policies.networkAccess.hindrance(of: path) else { return nil }
        return address.origins.target?.isLoopback == true ? nil : hindrance
    }

    /// The reason why the transfer or its engine is waiting for a network; nil if it isn't waiting.
    var awaitedNetwork: NetworkHindrance? {
        if case .awaitingNetwork(let hindrance) = state { return hindrance }
        return isWaitingForConnectivity ? .noNetwork : nil
    }

    /// Waits for a network; the transfer has neither a permit nor an open partial file.
    mutating func awaitNetwork(_ hindrance: NetworkHindrance) -> [TransferAction] {
        if case .awaitingNetwork(hindrance) = state { return [] }
        state = .awaitingNetwork(hindrance)
        address.attemptEnded()
        return [.emit(.waiting(reason: hindrance.waitingReason))]
    }

    /// Handles a change of the path or of the permitted networks.
    mutating func networkChanged(at now: Duration) -> [TransferAction] {
        guard intent == .run else { return [] }
        switch (state, networkHindrance) {
        case (.awaitingNetwork, nil):
            return requestPermit()
        case (.awaitingNetwork, let hindrance?):
            return awaitNetwork(hindrance)
        case (.waiting, let hindrance?):
            return releasePermit() + awaitNetwork(hindrance)
        case (.running, _?):
            return leaveNetwork(at: now)
        // The next request respects the change.
        case (.ready, _), (.waiting, nil), (.opening, _), (.running, nil), (.refreshing, _), (.backingOff, _),
            (.closing, _), (.paused, _), (.finishing, _), (.ended, _):
            return []
        }
    }

    /// Ends the exchanges, because they may no longer use the network.
    private mutating func leaveNetwork(at now: Duration) -> [TransferAction] {
        switch run.step {
        case .exchanging: drain(.advance, at: now)
        // A body that is allowed to complete also uses the network.
        case .draining: run.cancelExchanges(at: now)
        // The next request will not be sent.
        case .moving, .refreshing, .delaying: []
        }
    }
}
