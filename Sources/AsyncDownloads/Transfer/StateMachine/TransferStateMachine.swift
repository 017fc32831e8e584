internal import Foundation

/// The life cycle of one transfer, without effects: inputs are mutating functions, and outputs are actions.
///
/// What the subscribers want (``Intent``) is kept apart from where the transfer stands (``State``). An intent is
/// applied at the next point at which the state permits it, so that pausing and resuming in any order and from any
/// thread needs no state for each combination. What lasts longer than a state is in separate values, such as
/// ``ReceivedBytes`` and ``SourceAddress``.
///
/// Exchanges, delays, refreshes and permit requests have identifiers. What a superseded one still reports is dropped
/// where its identifier is compared.
struct TransferStateMachine: Sendable {
    /// The stage of the transfer.
    ///
    /// Most states can be left by a failure or by an intent. These exits are listed once: from `running` to `closing`, and
    /// from a state without an open partial file to `paused`, `opening` and `ended`.
    enum State: Sendable {
        /// Nothing has happened. Continues with `waiting`; a restored transfer starts as `paused`.
        case ready
        /// A permit for this origin was requested. Continues with `opening`.
        case waiting(PermitRequestID, OriginPair)
        /// The store opens the partial file. Continues with `running`, `finishing`, or `backingOff` while another process
        /// owns the file; if the file is opened to be removed, with `closing`.
        case opening(Opening)
        /// The transfer has a permit and an open partial file. Continues with `finishing`, or with `closing`.
        ///
        /// The run is in an allocation of its own, which is changed in place.
        case running(CopyOnWrite<Run>)
        /// A fresh URL or an authorization was requested that takes long. Continues with `waiting` or `backingOff`.
        case refreshing(RefreshID)
        /// No network that the subscribers permit is available, and nothing is open. Continues with `waiting`.
        case awaitingNetwork(NetworkHindrance)
        /// The next attempt has to wait, after a failure or while another process owns the partial file. Continues with
        /// `waiting`.
        case backingOff(TimerID, pollsOwner: Bool)
        /// The store saves and closes the partial file, after which the permit is released. Continues with what the
        /// reason says.
        case closing(CloseReason)
        /// Nothing is open and nothing runs; the bytes are on disk. Continues with `waiting`.
        case paused
        /// Every byte is on disk; the file is verified and placed, with the permit for this origin. Continues with
        /// `ended`, or with `opening` if bytes under several validators are not of one object.
        case finishing(OriginPair)
        /// The transfer has ended. Nothing follows.
        case ended
    }

    /// Why the store opens the partial file.
    enum Opening: Sendable, Hashable {
        /// To continue the transfer, with a permit for this origin.
        case transferring(OriginPair)
        /// To discard the bytes.
        case discarding
        /// To remove the bytes of a paused transfer, which stays paused.
        case purging
    }

    /// Why the store closes the partial file.
    enum CloseReason: Sendable {
        case keeping
        /// The bytes are removed, with a permit or without one.
        case discarding(holdsPermit: Bool)
        /// The error is in an allocation of its own, because it would be most of the state of every transfer.
        indirect case failing(DownloadError)
        /// The bytes are removed, and the pause continues.
        case purging
        /// The next attempt follows at this time.
        case retrying(at: Duration)
        /// The fresh URL that was requested takes long.
        case refreshing(RefreshID)
        /// The origin of the next request permits none now.
        case moving
        /// The subscribers whose files the server has confirmed end meanwhile; the transfer continues for the others. The
        /// validator is that of the files.
        case reusing(Validator)
    }

    /// The intent of the subscribers.
    enum Intent: Sendable, Hashable {
        /// The file.
        case run
        /// A pause, which keeps the transfer.
        case pause
        /// The end of the transfer, with the bytes kept on disk.
        case abandon
        /// The end of the transfer without a trace.
        case discard
    }

    private let sharedSettings: CopyOnWrite<TransferSettings>
    /// The combined policies of the subscribers.
    private(set) var policies: ResolvedPolicies
    /// The network path that was reported last.
    private(set) var path = NetworkPath()
    var state = State.ready
    var intent = Intent.run

    var bytes: ReceivedBytes
    var address: SourceAddress
    var strategy: RequestStrategy
    var budget: RetryBudget
    var meter: ProgressMeter
    /// The last run, whose findings about the server the next one uses; nil during a run and before the first one.
    private(set) var formerRun: CopyOnWrite<Run>?
    /// The identifiers that were used.
    var identifiers = TransferIdentifiers()
    var isTicking = false

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
        // Not `_read`: in debug builds (Swift 6.3), a value that it yielded was released twice.
        get {
            guard case .running(let run) = state else { preconditionFailure("no run in \(phase)") }
            return run.value
        }
        _modify {
            guard case .running(var run) = state else { preconditionFailure("no run in \(phase)") }
            // Otherwise, the state would refer to the allocation as well, and the change would copy it.
            state = .ended
            defer { state = .running(run) }
            yield &run.value
        }
    }

    /// Whether the transfer has a permit and an open partial file.
    var isRunning: Bool { if case .running = state { true } else { false } }

    /// Whether exchanges run, and are of use.
    var isExchanging: Bool {
        guard isRunning, case .exchanging = run.step else { return false }
        return true
    }

    /// The exchange with an identifier, while exchanges run and are of use; nil after its end.
    func liveExchange(_ id: ExchangeID) -> ExchangeProgress? { isExchanging ? run.exchanges[id] : nil }

    /// Begins a run with the permit for an origin and the partial file that the store has opened.
    mutating func beginRun(_ origins: OriginPair, allowsGaps: Bool, recordedCredentials: HeaderFields?) {
        state = .running(
            formerRun.take() ?? CopyOnWrite(Run(origins, ExtraExchanges(settings.connections, settings.segmentLimits))))
        run.begin(origins, allowsGaps: allowsGaps, recordedCredentials: recordedCredentials)
    }

    /// Ends the run before the partial file is closed or placed, and keeps what the server has shown.
    mutating func endRun(_ next: State) -> [TransferAction] {
        precondition(run.exchanges.isEmpty, "a run ends with an exchange")
        let observation = run.extras.takeObservation()
        if case .running(let ended) = state { formerRun = ended }
        state = next
        return observation.map { [.recordHost($0)] } ?? []
    }

    /// Leaves the connections of the host to other transfers, if the downloader knows of those of this transfer.
    ///
    /// A transfer that is paused, or waits for a retry, keeps its place.
    mutating func leaveConnections() -> [TransferAction] {
        formerRun?.value.extras.takeReport() == true ? [.leaveConnections] : []
    }

    /// Forgets what a server has shown, because another one is asked from now on.
    mutating func hostChanged() {
        if isRunning { run.extras.hostChanged() } else { formerRun?.value.extras.hostChanged() }
    }
}

// MARK: - What the subscribers want

extension TransferStateMachine {
    /// Starts the transfer, or resumes it after a pause.
    mutating func run(at now: Duration) -> [TransferAction] {
        // A discard is final; a later request gets another transfer.
        guard intent != .discard else { return [] }
        if case .finishing = state { return setIntentWhileFinishing(.run) }
        guard isJoinable else { return [] }
        intent = .run
        switch state {
        case .ready, .paused: return requestPermit()
        // In progress, or about to apply the intent.
        case .waiting, .opening, .running, .refreshing, .awaitingNetwork, .backingOff, .closing: return []
        case .finishing, .ended: return []
        }
    }

    /// Closes the partial file and opens it again, because the bytes are at another location.
    mutating func relocate(at now: Duration) -> [TransferAction] {
        // Otherwise another opening follows, or nothing.
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
        // The store's answer is on the way; the intent is applied then.
        case .opening, .closing: return []
        case .finishing, .ended: return []
        }
    }

    private mutating func stopRun(at now: Duration) -> [TransferAction] {
        switch run.step {
        case .exchanging: drain(.advance, at: now)
        // A body that is left to complete must not delay the stop.
        case .draining: run.cancelExchanges(at: now)
        case .refreshing: [.cancelRefresh] + applyIntent(at: now)
        case .moving, .delaying: applyIntent(at: now)
        }
    }

    /// Removes the bytes of a paused transfer, which stays paused.
    mutating func purge(at now: Duration) -> [TransferAction] {
        guard case .paused = state, !bytes.intervals.isEmpty else { return [] }
        return openPartial(.purging)
    }

    /// All bytes are on disk, so a stop is ignored, with two exceptions: a restart because of a wrong digest applies
    /// the intent, and a discard counts until the file is placed.
    private mutating func setIntentWhileFinishing(_ newIntent: Intent) -> [TransferAction] {
        if bytes.mayRestartUnverified || newIntent == .discard { intent = newIntent }
        return []
    }

    /// Does what the subscribers want at a point where nothing is in progress.
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

    /// Respects these policies of the subscribers from now on.
    mutating func setPolicies(_ new: ResolvedPolicies) {
        policies = new
    }

    /// Records the network path, which the next request respects; see ``networkChanged(at:)``.
    mutating func setPath(_ new: NetworkPath) {
        path = new
    }
}
