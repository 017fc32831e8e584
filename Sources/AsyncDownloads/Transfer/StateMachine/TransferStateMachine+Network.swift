/// The network path, and the networks that the subscribers permit.
///
/// Every request for a permit and every request of an exchange respects the path. A transfer that may not use it closes its
/// partial file like a transfer that is paused, so the bytes are on disk, and no retry is used.
extension TransferStateMachine {
    /// The reason why no request may be sent now; nil if one may.
    var networkHindrance: NetworkHindrance? {
        guard let hindrance = policies.networkAccess.hindrance(of: path) else { return nil }
        return address.origins.target?.isLoopback == true ? nil : hindrance
    }

    /// The reason why the transfer, or its engine, waits for a network; nil if it doesn't.
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

    /// Handles that the path, or what the subscribers permit, has changed.
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

    /// Ends the exchanges, which may not use the network any more.
    private mutating func leaveNetwork(at now: Duration) -> [TransferAction] {
        switch run.step {
        case .exchanging: drain(.advance, at: now)
        // A body that is left to complete uses the network, too.
        case .draining: run.cancelExchanges(at: now)
        // The request that would follow is not sent.
        case .moving, .refreshing, .delaying: []
        }
    }
}
