internal import Foundation

/// Queries of the state, without side effects.
extension TransferStateMachine {
    /// The phase of the transfer, without the values of the state.
    enum Phase: String, Sendable, Hashable, CaseIterable {
        case ready, waiting, opening, connecting, preparing, receiving, draining, refreshing,
            awaitingNetwork, backingOff, pacing, closing
        case closingToRetry, paused, finishing, ended

        /// Whether the transfer waits for the time of a retry.
        var isBeforeRetry: Bool { self == .backingOff || self == .closingToRetry }
    }

    /// The present phase.
    var phase: Phase {
        switch state {
        case .ready: .ready
        case .waiting: .waiting
        case .opening: .opening
        case .running: runPhase
        case .refreshing: .refreshing
        case .awaitingNetwork: .awaitingNetwork
        case .backingOff: .backingOff
        case .closing(.retrying): .closingToRetry
        case .closing: .closing
        case .paused: .paused
        case .finishing: .finishing
        case .ended: .ended
        }
    }

    private var runPhase: Phase {
        switch run.step {
        case .exchanging where run.isReceiving: .receiving
        case .exchanging: run.exchanges.all.contains(where: \.exchange.isHeldBack) ? .preparing : .connecting
        case .draining: .draining
        case .moving: .waiting
        case .refreshing: .refreshing
        case .delaying(_, let isPaced): isPaced ? .pacing : .backingOff
        }
    }

    /// The host for which the permit is valid, or to which it is being moved; nil while the transfer doesn't run.
    var permitHost: String? { isRunning ? run.origins.host : nil }

    /// The origin of the next extra request.
    var extraOrigins: OriginPair { run.extraAddress.redirects(address.redirects).origins }

    /// Returns the record of an exchange at the time when its request is sent.
    func record(of id: ExchangeID, to url: URL) -> ExchangeRecord {
        var record = ExchangeRecord(url: URL(string: url.redacted) ?? URL(fileURLWithPath: "/"))
        record.attempt = budget.retriesUsed + 1
        guard let exchange = run.exchanges[id] else { return record }
        record.offset = exchange.request.start
        if exchange.isExtra {
            record.reason = .additionalConnection
        } else if exchange.compares {
            record.reason = .comparison
        } else if address.redirects.current != address.redirects.origin {
            record.reason = .redirect
        } else if exchange.request.start > 0 {
            record.reason = .continuation
        }
        return record
    }

    /// The length of the file as stated by the server, or the expected length.
    private var expectedByteCount: Int64? { bytes.representation?.length ?? policies.expectedByteCount }

    /// The latest progress.
    var progress: DownloadProgress {
        var progress = meter.progress(received: bytes.count, expected: expectedByteCount)
        if case .running = state { progress.connectionCount = run.exchanges.count }
        return progress
    }

    /// The event that describes the accepted response.
    var started: DownloadEvent {
        .started(
            expectedByteCount: expectedByteCount, isResumable: bytes.isResumable,
            suggestedName: bytes.representation?.suggestedName, contentType: bytes.representation?.contentType)
    }

    /// Whether bytes are being received or stored, even while the transfer stops.
    var hasUnstoredBytes: Bool {
        if bytes.intervals.isEmpty { return false }
        switch state {
        case .running:
            switch run.step {
            case .exchanging, .draining: return true
            case .moving, .refreshing, .delaying: return false
            }
        case .closing(.purging): return false
        case .closing: return true
        case .ready, .waiting, .opening, .refreshing, .awaitingNetwork, .backingOff, .paused, .finishing, .ended:
            return false
        }
    }

    /// Whether a timer of `scheduleRetry` may still have an effect.
    var awaitsTimer: Bool {
        switch state {
        case .backingOff: return true
        case .running:
            switch run.step {
            case .refreshing, .delaying: return true
            case .exchanging, .draining, .moving: return false
            }
        case .ready, .waiting, .opening, .refreshing, .awaitingNetwork, .closing, .paused, .finishing, .ended:
            return false
        }
    }

    /// Whether a new subscriber can still receive the file of this transfer.
    var isJoinable: Bool {
        if case .running = state, case .draining(.fail) = run.step { return false }
        return switch state {
        case .ended, .closing(.failing), .closing(.discarding): false
        default: intent != .discard
        }
    }

    /// Returns whether the exchange is an extra exchange.
    func isExtra(_ id: ExchangeID) -> Bool { isRunning && run.exchanges[id]?.isExtra == true }

    /// Returns whether the exchange is being canceled because of the idle timeout.
    func hasTimedOut(_ id: ExchangeID) -> Bool {
        guard isRunning, case .draining(.retry(let error)) = run.step, error.code == .timedOut else { return false }
        return run.exchanges[id]?.isExtra == false
    }

    /// Returns whether the exchange was canceled or has ended.
    func isCanceled(_ id: ExchangeID) -> Bool { !isRunning || run.exchanges[id]?.isCanceled != false }

    /// Returns whether the exchange receives bytes to be written.
    func isReceiving(_ id: ExchangeID) -> Bool { liveExchange(id)?.isReceiving == true }

    /// Returns whether the exchange is waiting for the store.
    func isHeldBack(_ id: ExchangeID) -> Bool { liveExchange(id)?.isHeldBack == true }

    /// Whether the partial file is being opened to be removed.
    var opensToDiscard: Bool {
        if case .opening(.purging) = state { return true }
        return intent == .discard
    }

    /// Whether the transfer is failing because the file has more bytes than its subscribers accept.
    var failsForSize: Bool {
        if case .closing(.failing(let error)) = state { return error.code == .bodyTooLarge && intent != .discard }
        return false
    }

    /// Returns whether bytes of the exchange are being written.
    func isWriting(_ id: ExchangeID) -> Bool { isRunning && run.exchanges[id]?.isWriting == true }

    /// Returns whether the exchange has no head and is the only one of the transfer, so that its refusal is a failure.
    func isOnlyRequest(_ id: ExchangeID) -> Bool {
        guard let exchange = liveExchange(id), case .connecting = exchange.phase else { return false }
        return !exchange.isExtra && !exchange.isCanceled && !run.othersReceive(besides: id)
    }

    /// Returns the error for a body of this length if no subscriber accepts it.
    func tooLarge(_ length: Int64?) -> DownloadError? { policies.excess(length) }

    /// Whether the device has no network connection, and the engine is waiting for one.
    var isWaitingForConnectivity: Bool {
        isExchanging && run.exchanges.all.contains { $0.exchange.isWaitingForConnectivity }
    }
}

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
