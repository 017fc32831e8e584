/// Questions about the state, which change nothing.
extension TransferStateMachine {
    /// The phase of the transfer, without the values of the state.
    enum Phase: String, Sendable, Hashable, CaseIterable {
        case ready, waiting, opening, connecting, preparing, receiving, draining, refreshing, backingOff, pacing,
            closing
        case closingToRetry, paused, finishing, ended
    }

    /// The present phase.
    var phase: Phase {
        switch state {
        case .ready: .ready
        case .waiting: .waiting
        case .opening: .opening
        case .exchanging: exchangePhase
        case .draining: .draining
        case .refreshing: .refreshing
        case .backingOff(_, let isPaced): isPaced ? .pacing : .backingOff
        case .closing(.retrying): .closingToRetry
        case .closing: .closing
        case .paused: .paused
        case .finishing: .finishing
        case .ended: .ended
        }
    }

    private var exchangePhase: Phase {
        if exchanges.all.contains(where: \.exchange.isReceiving) { return .receiving }
        return exchanges.all.contains(where: \.exchange.isHeldBack) ? .preparing : .connecting
    }

    /// The latest progress.
    var progress: DownloadProgress {
        meter.progress(received: bytes.count, expected: bytes.representation?.length)
    }

    /// Whether bytes are being received or stored, also while the transfer stops.
    var hasUnstoredBytes: Bool {
        if bytes.intervals.isEmpty { return false }
        return switch state {
        case .exchanging, .draining: true
        case .closing(.purging): false
        case .closing: true
        case .ready, .waiting, .opening, .refreshing, .backingOff, .paused, .finishing, .ended: false
        }
    }

    /// Whether a timer of `scheduleRetry` may still lead to something.
    var awaitsTimer: Bool {
        switch state {
        case .backingOff: true
        case .refreshing(_, let timer): timer != nil
        default: false
        }
    }

    /// Whether a new subscriber may still get the file of this transfer.
    var isJoinable: Bool {
        switch state {
        case .ended, .closing(.failing), .closing(.discarding), .draining(.fail): false
        default: intent != .discard
        }
    }

    /// Returns whether the exchange is an extra one.
    func isExtra(_ id: ExchangeID) -> Bool { exchanges[id]?.isExtra ?? false }

    /// Returns whether the exchange receives bytes that are written.
    func isReceiving(_ id: ExchangeID) -> Bool {
        guard case .exchanging = state else { return false }
        return exchanges[id]?.isReceiving == true
    }

    /// Returns whether the exchange waits for the store.
    func isHeldBack(_ id: ExchangeID) -> Bool {
        guard case .exchanging = state else { return false }
        return exchanges[id]?.isHeldBack == true
    }

    /// Whether the partial file is opened to be removed.
    var opensToDiscard: Bool {
        if case .opening(.purging) = state { return true }
        return intent == .discard
    }

    /// Whether the transfer fails because the file has more bytes than its subscribers accept.
    var failsForSize: Bool {
        if case .closing(.failing(let error)) = state { return error.code == .bodyTooLarge && intent != .discard }
        return false
    }

    /// Returns whether bytes of the exchange are being written.
    func isWriting(_ id: ExchangeID) -> Bool { exchanges[id]?.isWriting ?? false }
}
