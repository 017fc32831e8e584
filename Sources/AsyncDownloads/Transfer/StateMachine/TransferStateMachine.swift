internal import Foundation

/// The life cycle of one transfer, without side effects: inputs are mutating functions, and outputs are actions.
///
/// The intent of the subscribers (``Intent``) is separate from the state of the transfer (``State``). An intent is
/// applied as soon as the state permits it, so that no state is needed for each combination of pausing and resuming, in
/// any order and from any thread. Values that outlast a state, such as ``ReceivedBytes`` and ``SourceAddress``, are
/// separate.
///
/// Exchanges, delays, refreshes, and permit requests have identifiers. Reports of superseded ones are ignored when
/// their identifiers are compared.
struct TransferStateMachine: Sendable {
    /// The stage of the transfer.
    ///
    /// A failure or an intent can end most states. These transitions are listed only here: from `running` to `closing`,
    /// and from a state without an open partial file to `paused`, `opening`, and `ended`.
    enum State: Sendable {
        /// The transfer has not started. Continues with `waiting`; a restored transfer starts as `paused`.
        case ready
        /// A permit for this origin was requested. Continues with `opening`.
        case waiting(PermitRequestID, OriginPair)
        /// The store is opening the partial file. Continues with `running`, `finishing`, or `backingOff` while another
        /// process owns the file; if the file is opened to be removed, with `closing`.
        case opening(Opening)
        /// The transfer has a permit and an open partial file. Continues with `finishing`, or with `closing`.
        ///
        /// The run is in a separate allocation, which is changed in place.
        case running(CopyOnWrite<Run>)
        /// A requested fresh URL or authorization has not been supplied in time. Continues with `waiting` or
        /// `backingOff`.
        case refreshing(RefreshID)
        /// No permitted network is available, and nothing is open. Continues with `waiting`.
        case awaitingNetwork(NetworkHindrance)
        /// The next attempt has to wait, after a failure or while another process owns the partial file. Continues with
        /// `waiting`.
        case backingOff(TimerID, pollsOwner: Bool)
        /// The store is saving and closing the partial file; the permit is released afterward. The next state depends
        /// on the reason.
        case closing(CloseReason)
        /// Nothing is open or in progress; the bytes are on disk. Continues with `waiting`.
        case paused
        /// Every byte is on disk; the file is being verified and placed, with the permit for this origin. Continues
        /// with `ended`, or with `opening` if bytes with different validators don't belong to one object.
        case finishing(OriginPair)
        /// The transfer has ended. This state is final.
        case ended
    }

    /// The purpose for which the store opens the partial file.
    enum Opening: Sendable, Hashable {
        /// To continue the transfer, with a permit for this origin.
        case transferring(OriginPair)
        /// To discard the bytes.
        case discarding
        /// To remove the bytes of a paused transfer, which stays paused.
        case purging
    }

    /// The reason why the store closes the partial file.
    enum CloseReason: Sendable {
        case keeping
        /// The bytes are removed, with a permit or without one.
        case discarding(holdsPermit: Bool)
        /// The error is in a separate allocation, because it would otherwise dominate the size of every transfer's
        /// state.
        indirect case failing(DownloadError)
        /// The bytes are removed, and the pause continues.
        case purging
        /// The next attempt follows at this time.
        case retrying(at: Duration)
        /// The requested fresh URL or authorization has not been supplied in time.
        case refreshing(RefreshID)
        /// The origin of the next request currently permits none.
        case moving
        /// The server has confirmed the files of some subscribers, which end; the transfer continues for the others.
        case reusing(ConfirmedFiles)
    }

    /// The intent of the subscribers.
    enum Intent: Sendable, Hashable {
        /// To receive the file.
        case run
        /// To pause, keeping the transfer.
        case pause
        /// To end the transfer, keeping the bytes on disk.
        case abandon
        /// To end the transfer and remove all of its files.
        case discard
    }

    private let sharedSettings: CopyOnWrite<TransferSettings>
    /// The combined policies of the subscribers.
    private(set) var policies: ResolvedPolicies
    /// The network path that was last reported.
    private(set) var path = NetworkPath()
    var state = State.ready
    var intent = Intent.run

    var bytes: ReceivedBytes
    var address: SourceAddress
    var strategy: RequestStrategy
    var budget: RetryBudget
    var meter: ProgressMeter
    /// The last run, whose observations about the server the next run uses; nil during a run and before the first run.
    private(set) var formerRun: CopyOnWrite<Run>?
    /// The identifiers that were used.
    var identifiers = TransferIdentifiers()

    init(settings: TransferSettings, seed: UInt64) {
        sharedSettings = CopyOnWrite(settings)
        policies = settings.policies
        address = SourceAddress(
            url: settings.url, headers: settings.headers, credentialOrigins: settings.credentialOrigins)
        strategy = RequestStrategy(windowLength: settings.windowLength)
        budget = RetryBudget(seed: seed)
        meter = ProgressMeter(interval: settings.progressInterval)
        bytes = ReceivedBytes(credentials: settings.headers.credentials)
    }
}

extension TransferStateMachine {
    var settings: TransferSettings { sharedSettings.value }
}

// MARK: - The run

extension TransferStateMachine {
    /// The run; the transfer has to be running.
    var run: Run {
        // `_read` isn't used: in debug builds (Swift 6.3), the yielded value was released twice.
        get {
            guard case .running(let run) = state else { preconditionFailure("no run in \(phase)") }
            return run.value
        }
        _modify {
            guard case .running(var run) = state else { preconditionFailure("no run in \(phase)") }
            // Otherwise, the state would also refer to the allocation, and the change would copy it.
            state = .ended
            defer { state = .running(run) }
            yield &run.value
        }
    }

    /// Whether the transfer has a permit and an open partial file.
    var isRunning: Bool { if case .running = state { true } else { false } }

    /// Whether exchanges are in progress and needed.
    var isExchanging: Bool {
        guard isRunning, case .exchanging = run.step else { return false }
        return true
    }

    /// Returns the exchange with an identifier, while exchanges are in progress and needed; nil after its end.
    func liveExchange(_ id: ExchangeID) -> ExchangeProgress? { isExchanging ? run.exchanges[id] : nil }

    /// Begins a run with the permit for an origin and the partial file that the store has opened.
    mutating func beginRun(_ origins: OriginPair, allowsGaps: Bool, recordedCredentials: HeaderFields?) {
        state = .running(
            formerRun.take() ?? CopyOnWrite(Run(origins, ExtraExchanges(settings.connections, settings.segmentLimits))))
        run.begin(origins, allowsGaps: allowsGaps, recordedCredentials: recordedCredentials)
    }

    /// Ends the run before the partial file is closed or placed, and keeps the observations about the server.
    mutating func endRun(_ next: State) -> [TransferAction] {
        precondition(run.exchanges.isEmpty, "a run ends with an exchange")
        let observation = run.extras.takeObservation()
        if case .running(let ended) = state { formerRun = ended }
        state = next
        return observation.map { [.recordHost($0)] } ?? []
    }

    /// Releases the transfer's share of the host's connections, if the downloader knows about it.
    ///
    /// A transfer that is paused or waits for a retry keeps its share.
    mutating func leaveConnections() -> [TransferAction] {
        formerRun?.value.extras.takeReport() == true ? [.leaveConnections] : []
    }

    /// Forgets what a server has shown, because another server is used from now on.
    mutating func hostChanged() {
        if isRunning { run.extras.hostChanged() } else { formerRun?.value.extras.hostChanged() }
    }
}

// MARK: - Intents of the subscribers

extension TransferStateMachine {
    /// Starts the transfer, or resumes it after a pause.
    mutating func run(at now: Duration) -> [TransferAction] {
        // Discarding is final; a later request gets another transfer.
        guard intent != .discard else { return [] }
        if case .finishing = state { return setIntentWhileFinishing(.run) }
        guard isJoinable else { return [] }
        intent = .run
        switch state {
        case .ready, .paused: return requestPermit()
        // The transfer is in progress, or is about to apply the intent.
        case .waiting, .opening, .running, .refreshing, .awaitingNetwork, .backingOff, .closing: return []
        case .finishing, .ended: return []
        }
    }

    /// Closes the partial file and opens it again, because the bytes are at another location.
    mutating func relocate(at now: Duration) -> [TransferAction] {
        // Otherwise, another opening follows, or the transfer is ending.
        guard intent == .run, isRunning else { return [] }
        switch run.step {
        case .exchanging: return drain(.relocate, at: now)
        case .draining(.advance), .draining(.retry), .draining(.awaitOrigin):
            run.step = .draining(.relocate)
            return []
        case .refreshing: return [.cancelRefresh] + close(.keeping, at: now)
        case .delaying: return close(.keeping, at: now)
        case .moving, .draining: return []
        }
    }

    /// Restores a transfer that an earlier process left or that was imported, as paused.
    mutating func restore(_ unfinished: UnfinishedPartial) {
        guard case .ready = state else { preconditionFailure("restore in \(phase)") }
        found(unfinished.representation, unfinished.received)
        intent = .pause
        state = .paused
    }

    /// Requests the action that removes an imported file as soon as a server has confirmed its bytes.
    mutating func awaitImportConfirmation() {
        bytes.awaitImportConfirmation()
    }

    /// Stops for ``Intent/pause``, ``Intent/abandon`` or ``Intent/discard``.
    mutating func stop(_ newIntent: Intent, at now: Duration) -> [TransferAction] {
        guard intent != .discard else { return [] }
        switch state {
        case .ended: return []
        case .finishing: return setIntentWhileFinishing(newIntent)
        default: break
        }
        intent = newIntent
        strategy.interrupted()
        address.attemptEnded()
        switch state {
        case .ready, .paused, .waiting, .awaitingNetwork, .backingOff: return applyIntent(at: now)
        case .refreshing: return [.cancelRefresh] + applyIntent(at: now)
        case .running: return stopRun(at: now)
        // The store's answer is pending; the intent is applied when it arrives.
        case .opening, .closing: return []
        case .finishing, .ended: return []
        }
    }

    private mutating func stopRun(at now: Duration) -> [TransferAction] {
        switch run.step {
        case .exchanging: drain(.advance, at: now)
        // A body that is allowed to complete must not delay the stop.
        case .draining: run.cancelExchanges(at: now)
        case .refreshing: [.cancelRefresh] + applyIntent(at: now)
        case .moving, .delaying: applyIntent(at: now)
        }
    }

    /// Removes the bytes of a paused transfer, which stays paused, including those that an earlier process has left.
    mutating func purge(at now: Duration) -> [TransferAction] {
        guard case .paused = state else { return [] }
        return openPartial(.purging)
    }

    /// All bytes are on disk, so a stop is ignored, with two exceptions: a restart because of a wrong digest applies
    /// the intent, and a discard counts until the file is placed.
    private mutating func setIntentWhileFinishing(_ newIntent: Intent) -> [TransferAction] {
        if bytes.mayRestartUnverified || newIntent == .discard { intent = newIntent }
        return []
    }

    /// Applies the subscribers' intent at a point where nothing is in progress.
    mutating func applyIntent(at now: Duration) -> [TransferAction] {
        switch intent {
        case .run: return advance(at: now)
        case .pause:
            if case .paused = state { return [] }
            return close(.keeping, at: now)
        case .abandon: return close(.keeping, at: now)
        case .discard:
            if isRunning { return close(.discarding(holdsPermit: true), at: now) }
            return releasePermit() + openPartial(.discarding)
        }
    }

    /// Uses these combined policies of the subscribers from now on.
    mutating func setPolicies(_ new: ResolvedPolicies) {
        policies = new
    }

    /// Records the network path, which the next request respects; see ``networkChanged(at:)``.
    mutating func setPath(_ new: NetworkPath) {
        path = new
    }
}
