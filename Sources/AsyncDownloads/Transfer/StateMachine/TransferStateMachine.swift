internal import Foundation

/// The life of one transfer, without effects: inputs are mutating functions, outputs are actions.
///
/// What callers want (``Intent``) is kept apart from where the transfer stands (``State``): a wish is taken up at the
/// next point where the state allows it, so that pausing and resuming in any order from any thread needs no state for
/// every combination. Exchanges are numbered, and so are delays: whatever a superseded one still reports is dropped
/// where its number is compared.
struct TransferStateMachine: Sendable {
    /// Where the transfer stands.
    enum State: Sendable, Hashable {
        /// Nothing has happened. Goes to `waiting`, or to `paused` for one that is revived.
        case ready
        /// A permit was asked for, or room at another host than before. Goes to `opening`, or to `connecting` when the
        /// partial is open.
        case waiting
        /// The store opens the partial. Goes to `connecting`, `backingOff` while another process owns it, `closing`.
        case opening
        /// An exchange was started and no head accepted. Goes to `preparing`, `receiving`, `draining`.
        case connecting
        /// A head was accepted, and its body does not flow yet. Goes to `receiving`, `draining`.
        case preparing(Preparation)
        /// The body arrives. Goes to `connecting` for the next part, to `backingOff` where short parts are paced, `draining`,
        /// `finishing`.
        case receiving
        /// The exchange is of no more use; its end is awaited, so that it cannot touch what comes next.
        case draining(DrainFollowUp)
        /// A fresh URL was asked for under this number, and no exchange is under way. The permit and the open partial are
        /// kept for two seconds: a URL that is signed for a minute must not wait for a permit, and a caller who does not
        /// answer must not keep one. Goes to `connecting`, `waiting`, `backingOff`, `closing`, `paused`, `opening` to
        /// discard, `ended`.
        case refreshing(Int)
        /// No exchange, until the delay of this number is over: after a failure, while another process owns the partial, or
        /// where `isPaced` between two requests. The permit and the open partial are kept together or not at all: see
        /// `backOff`. Goes to `waiting`, `connecting`, `closing`.
        case backingOff(Int)
        /// The store saves and closes. Goes to `paused`, `backingOff`, `refreshing`, `waiting` when resumed meanwhile,
        /// `opening` when discarded meanwhile, `ended`.
        case closing(CloseReason)
        /// Nothing is open and nothing runs; the bytes are on disk. Goes to `waiting`, `opening` to discard, `ended`.
        case paused
        /// Every byte is there; the file is verified and put in place. Goes to `ended`, or to `opening` when bytes under
        /// several validators are not one object's.
        case finishing
        /// Over. Nothing follows.
        case ended
    }

    /// What has to happen between a head and its body.
    enum Preparation: Sendable, Hashable {
        /// An empty partial file for this representation is begun before the head's callback returns.
        ///
        /// Making a file is quick, and engines drop what they have read when a connection breaks while the body is held
        /// back. Only where bytes have to be removed first, which may take long, is the body held back for it.
        case beginning(Representation)
        /// The store removes the bytes of another representation, or records what follows, and the body is held back.
        case store
    }

    /// What follows when the exchange has ended, unless the callers wish otherwise meanwhile.
    enum DrainFollowUp: Sendable, Hashable {
        /// Connect again: to the redirect's target, or asking differently.
        case advance
        /// Ask for a fresh URL, since the server refuses this one.
        case refresh
        /// Count a failure, and try again after a delay.
        case retry
        /// End with the pending error, whatever the callers wish.
        case fail
    }

    /// Why the store closes the partial.
    enum CloseReason: Sendable, Hashable {
        case keeping, failing, discarding
        /// What is there is removed, and the pause goes on.
        case purging
        /// The next attempt follows at this time.
        case retrying(at: Duration)
        /// The fresh URL that was asked for under this number takes long.
        case refreshing(Int)
        /// The host that is to be talked to next has no room.
        case moving
    }

    /// What the callers want.
    enum Intent: Sendable, Hashable {
        /// The file.
        case run
        /// A pause, keeping the transfer.
        case pause
        /// To leave: the bytes stay on disk, the transfer goes.
        case abandon
        /// No trace.
        case discard
    }

    let settings: TransferSettings
    /// What the subscribers demand; they come and go.
    var demands: SubscriberDemands
    var state = State.ready
    var intent = Intent.run

    /// What is known of the object whose bytes are `received`; nil before the first answer and after a restart.
    var representation: Representation?
    /// Which bytes of `representation` are on disk.
    var received = IntervalSet()
    /// Whether the partial holds bytes, of whichever representation.
    var isPartialFilled = false
    /// The exchange under way, until its end was reported.
    var exchange: ExchangeProgress?
    /// The error that `draining(.retry)`, `draining(.fail)` and `closing(.failing)` are about.
    var pendingError: DownloadError?

    var redirects: RedirectChain
    /// The caller's headers, or those that came with a fresh URL.
    var headers: CallerHeaders
    var meter: ProgressMeter
    var checkpoints = CheckpointSchedule()
    var hasStarted = false
    var usesWindows: Bool
    /// Whether the next partial response merely follows on the one before.
    var continuesWindows = false
    /// Whether the rest is asked for without a condition, its validator being compared here (rule 34).
    var dropsCondition = false
    /// Whether the condition was dropped before, which is done once.
    var hasDroppedCondition = false
    /// Whether bytes under several validators turned out to be of several objects.
    var hasDigestMismatch = false
    var rangeFaults = 0
    /// How many responses brought more than they promised.
    var excessCount = 0
    var forcedRestarts = 0
    var pacing = RequestPacing()
    /// Whether `backingOff` is a pause between two requests of one attempt, which follows no failure.
    var isPaced = false

    var exchangeCount = 0
    var delayCount = 0
    var retriesUsed = 0
    /// The host that a permit was asked for or granted for; nil without either.
    var permitHost: String?
    /// Counts requests and releases of permits, to tell grants apart.
    var permitCount = 0
    /// When the URL that was refreshed came.
    var refreshedAt: Duration?
    /// Whether another process owns the partial, which is looked for again and again.
    var isPollingOwner = false
    /// When the URL's time is over.
    var expiresAt: Duration?
    /// The URLs that are known of the resource, those that are of no use any more included.
    var knownURLs: Set<URL>
    /// Where a caller who came later has asked for the resource.
    var offeredAddress: Address?
    /// How many fresh URLs were asked for since one answered.
    var refreshCount = 0
    /// Whether the bytes came from another URL than the next ones, so that these have to prove what they are.
    var requiresVerification = false
    /// What is still to be compared before bytes are continued that were received with other credentials.
    var credentialProof: CredentialProof?
    /// Whether the expected digest has to prove such bytes instead, when all are there.
    var reliesOnChecksum = false
    /// Whether the partial knows the secret headers in use, where they are not those of the request.
    var hasTakenCredentials = false
    /// Whether a file that was imported waits to be removed until a server has confirmed its bytes.
    var awaitsConfirmation = false
    var mostReceived: Int64 = 0
    var isPartialOpen = false
    /// Whether a paused transfer's partial is opened only to be removed.
    var isPurging = false
    var isTicking = false
    var marks = MarkSchedule()
    var jitter: SplitMix64

    init(settings: TransferSettings, seed: UInt64) {
        self.settings = settings
        demands = settings.demands
        redirects = RedirectChain(origin: settings.url)
        headers = settings.headers
        knownURLs = [settings.url]
        meter = ProgressMeter(interval: settings.progressInterval)
        usesWindows = settings.windowLength != nil
        jitter = SplitMix64(seed: seed)
    }

    /// The latest progress.
    var progress: DownloadProgress {
        meter.progress(received: received.count, expected: representation?.length)
    }

    /// Whether the timer of `scheduleRetry` is still of use.
    var awaitsTimer: Bool {
        switch state {
        case .backingOff: true
        case .refreshing: isPartialOpen
        default: false
        }
    }

    /// Whether a new caller may still get this transfer's file.
    var isJoinable: Bool {
        switch state {
        case .ended, .closing(.failing), .closing(.discarding), .draining(.fail): false
        default: intent != .discard
        }
    }
}

// MARK: - What callers want

extension TransferStateMachine {
    /// Begins, or goes on after a pause.
    mutating func run(at now: Duration) -> [TransferAction] {
        // A discard is final; whoever asks again gets a transfer of his own.
        guard intent != .discard else { return [] }
        if state == .finishing { return recordIntentWhileFinishing(.run) }
        guard isJoinable else { return [] }
        intent = .run
        switch state {
        case .ready, .paused: return requestPermit(at: now)
        // Under way, or about to look at the wish again.
        case .waiting, .opening, .connecting, .preparing, .receiving, .draining, .refreshing, .backingOff, .closing:
            return []
        case .finishing, .ended: return []
        }
    }

    /// Registers a transfer that an earlier process left, without beginning.
    mutating func revive(_ unfinished: UnfinishedPartial) {
        guard state == .ready else { preconditionFailure("revive in \(state)") }
        representation = unfinished.representation
        received = unfinished.received
        startCredentialProof()
        withholdUnverifiedEnd()
        intent = .pause
        state = .paused
    }

    /// Stops for ``Intent/pause``, ``Intent/park`` or ``Intent/discard``.
    mutating func stop(_ newIntent: Intent, at now: Duration) -> [TransferAction] {
        guard state != .ended, intent != .discard else { return [] }
        if state == .finishing { return recordIntentWhileFinishing(newIntent) }
        intent = newIntent
        continuesWindows = false
        switch state {
        case .ready, .paused, .waiting, .backingOff:
            return applyIntent(at: now)
        case .refreshing:
            return [.cancelRefresh] + applyIntent(at: now)
        case .connecting, .preparing, .receiving:
            return drain(.advance, at: now)
        // A body that is left to run out must not hold up whoever stops.
        case .draining:
            return cancelExchange(at: now)
        // Their answers are on the way, and the wish is looked at then.
        case .opening, .closing:
            return []
        case .finishing, .ended:
            return []
        }
    }

    /// Removes the bytes of a paused transfer, which stays paused.
    mutating func purge(at now: Duration) -> [TransferAction] {
        guard state == .paused, !received.isEmpty else { return [] }
        isPurging = true
        return openPartial()
    }

    /// The last byte is there: a stop that comes now comes too late, and costs nothing.
    ///
    /// Unless it turns out that everything has to begin again, which is where the wish is looked at. A discard may still
    /// come before the file is in place, and is looked at there.
    private mutating func recordIntentWhileFinishing(_ newIntent: Intent) -> [TransferAction] {
        if mayRestartUnverified || newIntent == .discard { intent = newIntent }
        return []
    }

    /// Does what is wished at a point where nothing is under way.
    mutating func applyIntent(at now: Duration) -> [TransferAction] {
        switch intent {
        case .run:
            return isPartialOpen ? advance(at: now) : openPartial()
        case .pause where state == .paused:
            return []
        case .pause, .abandon:
            return close(.keeping, at: now)
        case .discard:
            return isPartialOpen ? close(.discarding, at: now) : releasePermit() + openPartial()
        }
    }
}
