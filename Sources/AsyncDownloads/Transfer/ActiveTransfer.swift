internal import Foundation

/// A transfer with a state machine: a lock around the machine and the subscribers.
///
/// Inputs come from subscribers, the engine, the store, and the clock, on any thread. Each input is decided under the
/// lock. Actions run outside the lock in FIFO order: the first thread that finds the queue idle drains it; others only
/// enqueue. No lock is held when a continuation is resumed or the engine is called. The store's operations run on a
/// serial queue that belongs to the transfer, so that a hanging volume blocks only its own transfers.
final class ActiveTransfer: Sendable {
    /// The number of the transfer, in the order in which the downloader started its transfers.
    let number: Int
    let key: TransferKey
    /// The digest of ``key``, under which the transfer is registered and destinations are reserved.
    let keyDigest: HashDigest
    /// The request of the first subscriber, which determines the resource.
    let request: DownloadRequest
    let environment: TransferEnvironment
    /// The bandwidth limit of this transfer alone.
    let bandwidth: BandwidthLimiter
    /// The queue of the store's operations.
    let queue = SerialQueue()
    private let state: Mutex<State>

    /// Creates the active transfer of a slot.
    ///
    /// - Parameters:
    ///   - place: The location at which bytes were found, which takes precedence over the default one.
    ///   - prepare: A closure that initializes the new state.
    init(_ slot: TransferSlot, at place: PartialLocation? = nil, _ prepare: (inout State) -> Void) {
        number = slot.number
        keyDigest = slot.keyDigest
        request = slot.request
        environment = slot.environment
        key = TransferKey(request)
        bandwidth = BandwidthLimiter(limit: request.bandwidthLimit.bytesPerSecond, time: environment.time)
        let machine = TransferStateMachine(
            settings: environment.settings(of: request, key), seed: environment.nextSeed())
        var state = State(machine: machine, location: environment.location(of: request, key, at: place))
        prepare(&state)
        self.state = Mutex(state)
    }

    /// Returns a value that is computed from the state under the lock.
    ///
    /// - Parameter body: A closure that only reads the state; the parameter is `inout` to avoid a copy.
    func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    /// Handles one input: decides under the lock, then acts outside the lock.
    @discardableResult
    func update<Value: Sendable>(_ decide: (inout State, inout Decision) -> Value) -> Value {
        let (value, turn) = state.withLock { state in
            var decision = Decision()
            let value = decide(&state, &decision)
            return (value, enqueue(&decision, in: &state))
        }
        perform(turn)
        return value
    }

    /// Decides under the lock, and lets the caller perform the effects later; returns nil if no effect follows.
    func decideLater(_ decide: (inout State, inout Decision) -> SubscriberID?) -> Attachment? {
        state.withLock { state in
            var decision = Decision()
            guard let id = decide(&state, &decision) else { return nil }
            let turn = enqueue(&decision, in: &state)
            return Attachment(id: id) { [self] in perform(turn) }
        }
    }

    /// Handles an input that causes no action and no notification of observers.
    func updateQuietly<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    /// Handles one input of the state machine.
    func input(_ decide: (inout TransferStateMachine) -> [TransferAction]) {
        update { state, decision in decision.actions += decide(&state.machine) }
    }

    /// The actions and effects that result from one input.
    struct Decision {
        var actions: [TransferAction] = []
        var effects: [DeferredEffect] = []
    }

    /// The effects and actions that the deciding thread performs after it has released the lock.
    private struct Turn {
        let effects: [DeferredEffect]
        /// The actions to perform after the effects.
        ///
        /// The value is empty if another thread is already performing actions; that thread also performs the new ones.
        let actions: [TransferAction]
    }

    private func enqueue(_ decision: inout Decision, in state: inout State) -> Turn {
        // Actions that remain to be performed are moved to the front.
        var (next, left) = (0, 0)
        // The scheduler may answer immediately, which adds actions.
        while next < decision.actions.count {
            defer { next += 1 }
            switch decision.actions[next] {
            case .emit(let event):
                switch event {
                case .retrying(_, let delay, let error):
                    state.attemptFailed(FailedAttempt(error, retriedAfter: delay, at: environment.time.date))
                    detachLate(after: delay, error, &state, &decision)
                case .started, .resumed, .progress: state.attemptSucceeded()
                case .waiting(let reason): networkAwaited(reason, &state, &decision)
                default: break
                }
                // Events are logged without a lock, because a log handler may read the state of the download.
                if let entry = logEntry(event) {
                    decision.effects.append(DeferredEffect { [environment] in entry(environment.log) })
                }
                decision.effects += state.subscribers.emit(event)
                continue
            case .requestPermit(let origins, let id):
                requestPermit(origins, id, &state, &decision)
            case .movePermit(let origins, let id):
                decision.actions += movePermit(to: origins, id, &state)
            case .releasePermit:
                _ = releasePermit(&state)
            case .startExchange(let id, let request):
                guard let waiting = beginRequest(id, request, &state, &decision) else { break }
                decision.actions += waiting
                continue
            default:
                break
            }
            decision.actions.swapAt(left, next)
            left += 1
        }
        decision.actions.removeSubrange(left...)
        state.actions.add(&decision.actions)
        if !state.machine.awaitsTimer, let retry = state.scheduled.takeRetry() {
            // An unneeded timer would keep the transfer in memory until it fires.
            decision.effects.append(DeferredEffect { retry.cancel() })
        }
        decision.effects += state.takeRestWaiters()
        decision.effects += state.notifyObservers()
        return Turn(effects: decision.effects, actions: state.actions.beginDraining())
    }

    private func perform(_ turn: Turn) {
        for effect in turn.effects { effect() }
        var actions = turn.actions
        while !actions.isEmpty {
            for action in actions { perform(action) }
            actions = updateQuietly { $0.actions.next() }
        }
    }

    /// Ends the transfer for every subscriber, as its last action.
    ///
    /// Subscribers receive their outcomes when the transfer no longer uses any resources, so that a following request
    /// finds the key and the destination free.
    func end(_ ending: TransferEnding) {
        log(ending)
        environment.registry.free(number, of: keyDigest)
        releasePaths()
        update { state, decision in decision.effects += state.subscribers.end(ending, at: state.machine.progress) }
        environment.transferFinished(number)
    }
}

/// The log entries of a transfer.
extension ActiveTransfer {
    /// Returns a closure that logs an event, or nil if it isn't logged.
    func logEntry(_ event: DownloadEvent) -> (@Sendable (Log) -> Void)? {
        switch event {
        case .restarted(let reason, let discarded):
            return { [url = request.url] log in
                log.notice("restarted, \(reason), \(discarded) bytes discarded", url: url)
            }
        case .retrying(let attempt, let delay, let error):
            return { [url = request.url] log in log.debug("retry \(attempt) in \(delay)", error, url: url) }
        default:
            return nil
        }
    }

    /// Logs the end of the transfer.
    private func log(_ ending: TransferEnding) {
        let (log, url) = (environment.log, request.url)
        switch ending {
        case .finished: log.debug("finished", url: url)
        case .failed(let error): log.notice("failed", error, url: url)
        case .abandoned: log.debug("ended without subscribers", url: url)
        case .discarded: log.debug("discarded", url: url)
        }
    }
}

/// The network path, and the subscribers that don't wait for a network.
extension ActiveTransfer {
    /// Handles that the network path has changed.
    func networkChanged() {
        let now = now
        update { state, decision in
            // The path is read under the lock, so that the latest path applies even if reports arrive out of order.
            state.machine.setPath(environment.network.path)
            decision.actions += state.machine.networkChanged(at: now)
        }
    }

    /// Handles that the transfer has begun to wait.
    func networkAwaited(_ reason: WaitingReason, _ state: inout State, _ decision: inout Decision) {
        guard let hindrance = state.machine.awaitedNetwork, reason == hindrance.waitingReason else { return }
        endUnlessWaiting(&state, &decision)
        // The path may have changed before this transfer was registered and could be notified.
        decision.effects.append(DeferredEffect { [self] in networkChanged() })
    }

    /// Ends the running subscribers that don't wait for a network, if the transfer is waiting for one.
    ///
    /// The bytes are kept. If no other subscriber is left, the transfer ends.
    func endUnlessWaiting(_ state: inout State, _ decision: inout Decision) {
        guard let hindrance = state.machine.awaitedNetwork else { return }
        for (id, subscriber) in Array(state.subscribers.active)
        where !subscriber.isPaused && subscriber.policies.networkAccess.whenUnavailable == .fail {
            detach(id, .failure(hindrance.error), policy: .pause, &state, &decision, at: now)
        }
    }
}
