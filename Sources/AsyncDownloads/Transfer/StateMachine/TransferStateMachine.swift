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
    /// Most states can be left by a failure or by an intent. These exits are listed once: from `exchanging` to
    /// `draining`, and from a state without an exchange to `closing`, or to `paused`, `opening` and `ended` where no
    /// partial file is open.
    enum State: Sendable {
        /// Nothing has happened. Continues with `waiting`; a restored transfer starts as `paused`.
        case ready
        /// A permit was requested, or a move of the permit to another host. Continues with `opening`, or with
        /// `exchanging` if the partial file is open.
        case waiting(PermitRequestID)
        /// The store opens the partial file. Continues with `exchanging`, `finishing`, or `backingOff` while another
        /// process owns it.
        case opening(Opening)
        /// Exchanges run; see ``ExchangeProgress/Phase``. Continues with `exchanging` for the next bytes, `backingOff`
        /// where short responses are paced, or `finishing`.
        case exchanging
        /// The exchanges are of no more use; their ends are awaited, so that they can't touch what follows.
        case draining(DrainFollowUp)
        /// A fresh URL was requested, and no exchange runs. The permit and the open partial file are kept until the
        /// timer fires: a URL that is signed for a minute must not wait for a permit, and a caller that doesn't answer
        /// must not keep one. The timer is nil after that. Continues with `exchanging`, `waiting` or `backingOff`.
        case refreshing(RefreshID, permitTimer: TimerID?)
        /// No exchange runs until a delay has passed: after a failure, while another process owns the partial file, or
        /// between two requests of a server that is paced. The permit and the open partial file are kept together or
        /// not at all; see ``backOff(for:keepsPermit:at:)``. Continues with `waiting` or `exchanging`.
        case backingOff(TimerID, isPaced: Bool)
        /// The store saves and closes the partial file. Continues with what the reason says.
        case closing(CloseReason)
        /// Nothing is open and nothing runs; the bytes are on disk. Continues with `waiting`.
        case paused
        /// Every byte is on disk; the file is verified and placed. Continues with `ended`, or with `opening` if bytes
        /// under several validators are not of one object.
        case finishing
        /// The transfer has ended. Nothing follows.
        case ended
    }

    /// Why the store opens the partial file.
    enum Opening: Sendable, Hashable {
        /// To continue the transfer, or to discard the bytes.
        case transferring
        /// To remove the bytes of a paused transfer, which stays paused.
        case purging
    }

    /// The step after all exchanges have ended, unless the subscribers change their intent in the meantime.
    enum DrainFollowUp: Sendable {
        /// The next request: to the target of a redirect, or a different one.
        case advance
        /// A fresh URL, because the server refuses the present one with this status.
        case refresh(StatusCode)
        /// A counted failure, and another attempt after a delay.
        case retry(DownloadError)
        /// The files at the destinations, which the server has confirmed.
        case reuse
        /// Another location of the bytes, because the store has failed at the present one.
        case relocate
        /// The end of the transfer, whatever the subscribers want.
        case fail(DownloadError)
    }

    /// Why the store closes the partial file.
    enum CloseReason: Sendable {
        case keeping, discarding
        case failing(DownloadError)
        /// The bytes are removed, and the pause continues.
        case purging
        /// The next attempt follows at this time.
        case retrying(at: Duration)
        /// The fresh URL that was requested takes long.
        case refreshing(RefreshID)
        /// The host of the next request permits none now.
        case moving
        /// The subscribers whose files the server has confirmed end meanwhile; the transfer continues for the others.
        case reusing
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

    let settings: TransferSettings
    /// The combined demands of the subscribers.
    private(set) var demands: SubscriberDemands
    var state = State.ready
    var intent = Intent.run

    var bytes: ReceivedBytes
    var address: SourceAddress
    var exchanges = ExchangeTable()
    var exchangeNumbers = SerialNumbers<ExchangeID>()
    var extras: ExtraExchanges
    /// Where the extra exchanges are requested.
    var extraAddress = ExtraAddress()
    var strategy: RequestStrategy
    var budget: RetryBudget
    var permit = PermitHolding()
    var meter: ProgressMeter
    var checkpoints = CheckpointSchedule()
    var marks = MarkSchedule()
    var pacing = RequestPacing()
    var slowness = SlowConnectionPatience()
    var timers = SerialNumbers<TimerID>()
    var refreshes = SerialNumbers<RefreshID>()

    /// What the files at the destinations are, which the body of another representation may replace.
    var existing: ExistingRepresentation?
    /// Whether an answer of the server has left it open, so that the representation is requested without a condition.
    var ignoresExisting = false
    /// Whether the store has the partial file open.
    var isPartialOpen = false
    /// Whether bytes may be written far behind the others.
    var allowsGaps = true
    /// Whether another process owns the partial file, so that opening it is tried again and again.
    var isPollingOwner = false
    /// The secret headers that the partial file knows to be sent; nil if its checkpoint may say that there are none.
    var recordedCredentials: HeaderFields?
    /// Whether an imported file is to be removed when a server has confirmed its bytes.
    var awaitsImportConfirmation = false
    var hasEmittedStart = false
    var isTicking = false

    init(settings: TransferSettings, seed: UInt64) {
        self.settings = settings
        demands = settings.demands
        address = SourceAddress(url: settings.url, headers: settings.headers)
        extras = ExtraExchanges(settings.connections, settings.segmentLimits)
        strategy = RequestStrategy(windowLength: settings.windowLength)
        budget = RetryBudget(seed: seed)
        meter = ProgressMeter(interval: settings.progressInterval)
        bytes = ReceivedBytes(credentials: settings.headers.secretFields.sortedByName)
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
        case .waiting, .opening, .exchanging, .draining, .refreshing, .backingOff, .closing: return []
        case .finishing, .ended: return []
        }
    }

    /// Closes the partial file and opens it again, because the bytes are at another location.
    mutating func relocate(at now: Duration) -> [TransferAction] {
        guard intent == .run, isPartialOpen else { return [] }
        switch state {
        case .exchanging: return drain(.relocate, at: now)
        case .draining(.advance), .draining(.retry):
            state = .draining(.relocate)
            return []
        case .refreshing: return [.cancelRefresh] + close(.keeping, at: now)
        case .backingOff: return close(.keeping, at: now)
        // Another opening follows, or nothing.
        case .ready, .waiting, .opening, .draining, .closing, .paused, .finishing, .ended: return []
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
        awaitsImportConfirmation = true
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
        case .ready, .paused, .waiting, .backingOff:
            return applyIntent(at: now)
        case .refreshing:
            return [.cancelRefresh] + applyIntent(at: now)
        case .exchanging:
            return drain(.advance, at: now)
        // A body that is left to complete must not delay the stop.
        case .draining:
            return cancelExchanges(at: now)
        // The store's answer is on the way; the intent is applied then.
        case .opening, .closing:
            return []
        case .finishing, .ended:
            return []
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
        case .run:
            return isPartialOpen ? advance(at: now) : openPartial()
        case .pause:
            if case .paused = state { return [] }
            return close(.keeping, at: now)
        case .abandon:
            return close(.keeping, at: now)
        case .discard:
            return isPartialOpen ? close(.discarding, at: now) : releasePermit() + openPartial()
        }
    }

    /// Applies what the subscribers demand together from now on.
    mutating func setDemands(_ new: SubscriberDemands) {
        demands = new
    }
}
