internal import Dispatch
internal import Foundation

/// The work of fetching one resource once, on behalf of any number of subscribers.
///
/// While it waits for its first permit, a transfer consists only of a ``QueuedTransfer``. From then on, or as soon as
/// an input needs it, a transfer is a lock around the state machine and the subscribers (``ActiveTransfer``). Inputs
/// come from subscribers, the engine, the store, and the clock, on any thread. Each input is decided under the lock.
/// Actions run outside the lock in FIFO order: the first thread that finds the queue idle drains it; others only
/// enqueue. No lock is held when a continuation is resumed or the engine is called. Operations of the store run on a
/// serial queue that belongs to the transfer, so that a volume that hangs holds up its own transfers only.
final class Transfer: Sendable {
    struct State {
        var machine: TransferStateMachine
        var subscribers = SubscriberSet()
        var pending: [TransferAction] = []
        var isPerforming = false
        /// Where the bytes are, or will be when the partial file is opened.
        var location: PartialLocation
        /// Where the bytes were before they had to continue at ``location``; nil if the partial file was opened there.
        var formerLocation: PartialLocation?
        var partial: PartialFile?
        /// The file from which bytes were imported, until a server has confirmed them.
        var importedFile: ImportedFile?
        /// The digests of the bytes in ``partial``.
        var digests = TransferDigests()
        /// The files at the destinations of subscribers that don't have the expected digest.
        var rejectedFiles: [SubscriberID: [FileInformation]] = [:]
        /// What had the default names of the subscribers in directories when the download began.
        var formerFiles: [SubscriberID: FormerFile] = [:]
        /// Whether every subscriber has its result, so that no further one can attach.
        var isServed = false
        /// Whether the bytes are being moved to disk on the transfer's queue, which all writes then use.
        var isMovingToDisk = false
        /// The number of preparations of the partial file for a body, starts and records, that the transfer's queue has
        /// not performed.
        ///
        /// The exchange that has requested one may have ended. What a later exchange brings follows it in the queue, so
        /// that it isn't discarded, and isn't marked in an earlier checkpoint.
        var queuedPreparationCount = 0
        /// The receivers of the exchanges that have not ended.
        var receivers = SerialTable<ExchangeID, ExchangeReceiver>()
        var permit = Permit()
        /// The reserved paths of detached subscribers at which a file may still be placed.
        var heldPaths: [HeldPath] = []
        var tick: (any ScheduledAction)?
        var retry: (any ScheduledAction)?
        var mark: (any ScheduledAction)?
        /// The task that asks a subscriber for a fresh URL.
        var refresh: Task<Void, Never>?
        /// The state of the machine for which observers were last notified.
        var lastObservedState: ObservedState?
        /// The effects that wait until the transfer rests.
        var restWaiters: [DeferredEffect] = []
    }

    /// The stage of a transfer.
    enum Stage {
        /// The transfer waits for its first permit, and has no state machine.
        case queued(QueuedTransfer)
        /// The transfer has a state machine.
        case active(ActiveTransfer)
    }

    /// The digest of the ``TransferKey``.
    let key: HashDigest
    /// The request of the first subscriber, which determines the resource.
    let request: DownloadRequest
    let environment: TransferEnvironment
    /// The number of the transfer, in the order in which the downloader started its transfers.
    let number: Int
    private let stage: Mutex<Stage>

    /// Creates a transfer that has not started.
    ///
    /// - Parameter unfinished: The bytes that are known to be on disk, if any; the transfer then starts as paused.
    init(
        number: Int, key: HashDigest, request: DownloadRequest, environment: TransferEnvironment,
        continuing unfinished: UnfinishedPartial? = nil
    ) {
        self.number = number
        self.key = key
        self.request = request
        self.environment = environment
        guard let unfinished else {
            stage = Mutex(.queued(QueuedTransfer()))
            return
        }
        let active = Self.makeActive(request, environment, at: unfinished.location)
        active.state.machine.restore(unfinished)
        stage = Mutex(.active(active))
    }

    /// Returns a value that is computed from the state under the lock.
    ///
    /// - Parameter body: Reads the state, which is passed `inout` only because it would otherwise be copied.
    func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        stage.withLock { body(&active(&$0).state) }
    }

    /// Handles one input: decides under the lock, then acts outside it.
    @discardableResult
    func update<Value: Sendable>(_ decide: (inout State, inout Decision) -> Value) -> Value {
        let (value, turn) = stage.withLock { stage in
            let active = active(&stage)
            var decision = Decision()
            let value = decide(&active.state, &decision)
            return (value, enqueue(&decision, in: &active.state))
        }
        perform(turn)
        return value
    }

    /// Decides under the lock, and lets the caller perform the effects later; nil if there is nothing to do.
    func decideLater(_ decide: (inout State, inout Decision) -> SubscriberID?) -> Attachment? {
        stage.withLock { stage in
            let active = active(&stage)
            var decision = Decision()
            guard let id = decide(&active.state, &decision) else { return nil }
            let turn = enqueue(&decision, in: &active.state)
            return Attachment(id: id) { [self] in perform(turn) }
        }
    }

    /// Handles an input that leads to no action and that no observer needs to know about.
    func updateQuietly<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        stage.withLock { body(&active(&$0).state) }
    }

    /// Handles an input while the transfer is queued: decides under the lock, then acts outside it.
    ///
    /// - Parameter decide: Returns nil if the input needs the state machine.
    /// - Returns: The value, or nil if the transfer is active or the input needs the state machine.
    func updateQueued<Value: Sendable>(_ decide: (inout QueuedTransfer, inout [DeferredEffect]) -> Value?) -> Value? {
        guard let (value, effects) = decideQueued(decide) else { return nil }
        for effect in effects { effect() }
        return value
    }

    /// Decides under the lock while the transfer is queued, and lets the caller perform the effects later.
    func decideQueued<Value: Sendable>(
        _ decide: (inout QueuedTransfer, inout [DeferredEffect]) -> Value?
    ) -> (Value, [DeferredEffect])? {
        stage.withLock { stage in
            guard case .queued(var queued) = stage else { return nil }
            var effects: [DeferredEffect] = []
            guard let value = decide(&queued, &effects) else { return nil }
            stage = .queued(queued)
            return (value, effects)
        }
    }

    /// The immutable values that effects use; the transfer must be active.
    var work: Work { stage.withLock { active(&$0).work } }

    /// The location of the partial file.
    var location: PartialLocation {
        let location = stage.withLock { stage -> PartialLocation? in
            if case .active(let active) = stage { return active.state.location }
            return nil
        }
        return location ?? environment.location(of: request, TransferKey(request))
    }

    /// The location of the partial file, with the secret headers to which its bytes belong.
    var locationOfBytes: PartialLocation {
        var location = location
        if isActive { location.secretHeaders = withState { $0.machine.bytes.credentials } }
        return location
    }

    /// Whether the transfer has a state machine.
    var isActive: Bool {
        stage.withLock { stage in
            if case .active = stage { return true }
            return false
        }
    }

    /// Returns the active transfer, which is created from the queued one if necessary.
    private func active(_ stage: inout Stage) -> ActiveTransfer {
        switch stage {
        case .active(let active): return active
        case .queued(let queued):
            let active = Self.makeActive(request, environment)
            queued.activate(&active.state, for: request, environment)
            stage = .active(active)
            return active
        }
    }

    private static func makeActive(
        _ request: DownloadRequest, _ environment: TransferEnvironment, at place: PartialLocation? = nil
    ) -> ActiveTransfer {
        let key = TransferKey(request)
        let machine = TransferStateMachine(
            settings: environment.settings(of: request, key), seed: environment.nextSeed())
        return ActiveTransfer(
            work: Work(
                key: key,
                bandwidth: BandwidthLimiter(limit: request.bandwidthLimit, time: environment.time)),
            state: State(machine: machine, location: environment.location(of: request, key, at: place)))
    }

    /// Handles one input of the state machine.
    func input(_ decide: (inout TransferStateMachine) -> [TransferAction]) {
        update { state, decision in decision.actions += decide(&state.machine) }
    }

    /// The actions and effects that follow from one input.
    struct Decision {
        var actions: [TransferAction] = []
        var effects: [DeferredEffect] = []
    }

    /// The effects and actions that the deciding thread performs after it releases the lock.
    private struct Turn {
        let effects: [DeferredEffect]
        /// The actions to perform after the effects.
        ///
        /// The value is empty if another thread is already performing actions; that thread also performs the new ones.
        let actions: [TransferAction]
    }

    private func enqueue(_ decision: inout Decision, in state: inout State) -> Turn {
        detachLate(&state, &decision)
        // The actions that are left to perform are moved to the front.
        var (next, left) = (0, 0)
        // The scheduler may answer at once, which adds actions.
        while next < decision.actions.count {
            defer { next += 1 }
            switch decision.actions[next] {
            case .emit(let event):
                // Logged when no lock is held, because a log handler may read the state of the download.
                if let entry = logEntry(event) {
                    decision.effects.append(DeferredEffect { [environment] in entry(environment.log) })
                }
                decision.effects += state.subscribers.emit(event)
                continue
            case .requestPermit(let host, let id):
                requestPermit(host: host, id, &state)
            case .movePermit(let host, let id):
                decision.actions += movePermit(to: host, id, &state)
            case .releasePermit:
                _ = releasePermit(&state)
            case .startExchange(let id, let request):
                guard let waiting = beginRequest(id, request, &state) else { break }
                decision.actions += waiting
                decision.effects.append(deliveryOfGrants)
                continue
            default:
                break
            }
            decision.actions.swapAt(left, next)
            left += 1
        }
        decision.actions.removeSubrange(left...)
        state.add(&decision.actions)
        if let retry = state.retry, !state.machine.awaitsTimer {
            // A timer that is no longer awaited would keep the transfer in memory until it fires.
            state.retry = nil
            decision.effects.append(DeferredEffect { retry.cancel() })
        }
        decision.effects += state.takeRestWaiters()
        decision.effects += state.notifyObservers()
        return Turn(effects: decision.effects, actions: state.beginPerforming())
    }

    private func perform(_ turn: Turn) {
        for effect in turn.effects { effect() }
        var actions = turn.actions
        while !actions.isEmpty {
            for action in actions { perform(action) }
            actions = updateQuietly { $0.continuePerforming() }
        }
    }

    /// Ends the transfer for every subscriber, after the last of its actions.
    ///
    /// Subscribers receive their outcomes when the transfer no longer holds any resources, so that a request that
    /// follows finds the key and the destination free.
    func end(_ ending: TransferEnding) {
        environment.registry.free(number, of: key)
        releasePaths()
        update { state, decision in decision.effects += state.subscribers.end(ending) }
        finished()
    }

    /// Removes the transfer, whose subscribers have their outcomes.
    func finished() {
        // The activity ends before a shutdown can return.
        environment.registry.remove(number, environment.suspensionGuard.transferEnded)
    }
}
