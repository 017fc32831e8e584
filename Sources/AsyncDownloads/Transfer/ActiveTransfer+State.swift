extension ActiveTransfer {
    /// The state of an active transfer, under its lock.
    struct State {
        var machine: TransferStateMachine
        var subscribers = SubscriberSet()
        var actions = ActionQueue()
        var storage: TransferStorage
        var examinedFiles = ExaminedFiles()
        var delivery = DeliveryState()
        var acceptance = ResponseAcceptance()
        var connections = TransferConnections()
        var permit = TransferPermit()
        var scheduled = ScheduledWork()
        /// The last failed attempt.
        var failedAttempt: FailedAttempt?
        /// The state of the machine for which observers were last notified.
        private var lastObservedState: ObservedState?
        /// The effects that wait until the transfer rests.
        private var restWaiters: [DeferredEffect] = []

        init(machine: TransferStateMachine, location: PartialLocation) {
            self.machine = machine
            storage = TransferStorage(location: location)
        }
    }
}

extension ActiveTransfer {
    /// Returns the status of one subscriber.
    func status(of id: SubscriberID) -> SubscriberStatus {
        withState { state in state.status(of: id, waiting: state.machine.phase == .waiting ? waitingReason(state) : nil)
        }
    }

    /// The subscribers without an outcome.
    var activeSubscribers: [SubscriberID] { withState { $0.subscribers.activeIDs } }

    /// The subscribers that want the transfer to run.
    var runningSubscribers: [SubscriberID] {
        withState { state in state.subscribers.active.filter { !$0.subscriber.isPaused }.map(\.id) }
    }

    /// Whether the transfer waits for a permit.
    var isWaiting: Bool { withState { $0.machine.phase == .waiting } }

    /// Calls `body` once, when the transfer is paused or has ended, so that no file of it is open.
    func whenResting(_ body: @escaping @Sendable () -> Void) {
        update { state, _ in state.addRestWaiter(DeferredEffect(body)) }
    }
}

extension ActiveTransfer.State {
    /// Adds an effect that waits until the transfer rests.
    mutating func addRestWaiter(_ effect: DeferredEffect) {
        restWaiters.append(effect)
    }

    /// Returns the effects that wait until the transfer rests, if it does.
    mutating func takeRestWaiters() -> [DeferredEffect] {
        guard !restWaiters.isEmpty, machine.phase == .paused || machine.phase == .ended else { return [] }
        defer { restWaiters = [] }
        return restWaiters
    }

    /// Returns the effects that notify observers of what has changed.
    mutating func notifyObservers() -> [DeferredEffect] {
        let present = ActiveTransfer.ObservedState(
            phase: machine.phase, isWaitingForConnectivity: machine.isWaitingForConnectivity)
        if present != lastObservedState { subscribers.allChanged() }
        lastObservedState = present
        return subscribers.notifications()
    }

    /// Returns the status of one subscriber.
    ///
    /// - Parameter reason: The reason why the transfer waits for its permit; nil if it is its turn.
    func status(of id: SubscriberID, waiting reason: WaitingReason?) -> SubscriberStatus {
        if let subscriber = subscribers[id], let outcome = subscriber.outcome {
            return .ended(outcome, subscriber.lastProgress)
        }
        var status = SubscriberStatus(state: state(of: id), progress: machine.progress)
        switch status.state {
        case .waiting:
            status.waitingReason = machine.awaitedNetwork?.waitingReason ?? reason ?? .turn
            status.nextAttempt = status.waitingReason?.end
        case .retrying:
            (status.error, status.nextAttempt) = (failedAttempt?.error, failedAttempt?.nextAttempt)
        case .ready, .downloading, .paused, .verifying, .completed, .cancelled, .failed:
            break
        }
        return status
    }

    /// Returns the state as a subscriber without an outcome sees it.
    private func state(of id: SubscriberID) -> DownloadState {
        guard let subscriber = subscribers[id] else { return .failed }
        if machine.phase == .finishing { return .verifying }
        // A transfer that stops because of its last subscriber is paused when the bytes are stored.
        if subscriber.isPaused { return subscribers.arePaused && machine.hasUnstoredBytes ? .downloading : .paused }
        if machine.isWaitingForConnectivity { return .waiting }
        switch machine.phase {
        case .ready: return .ready
        case .waiting, .awaitingNetwork: return .waiting
        case .backingOff, .closingToRetry: return .retrying
        case .opening, .connecting, .preparing, .receiving, .draining, .refreshing, .pacing, .closing:
            return .downloading
        case .paused: return .paused
        case .finishing, .ended: return .verifying
        }
    }
}

extension ActiveTransfer {
    /// The properties of the machine from which the public states follow.
    struct ObservedState: Hashable {
        let phase: TransferStateMachine.Phase
        let isWaitingForConnectivity: Bool
    }
}

/// The timers of a transfer, and the task that asks a subscriber for a fresh URL.
struct ScheduledWork: Sendable {
    private var retry: (any ScheduledAction)?
    private var tick: (any ScheduledAction)?
    private var mark: (any ScheduledAction)?
    private var refresh: Task<Void, Never>?

    /// Stores the timer of the next retry.
    mutating func setRetry(_ timer: any ScheduledAction) { retry = timer }

    /// Stores the timer of the next periodic check.
    mutating func setTick(_ timer: any ScheduledAction) { tick = timer }

    /// Stores the timer of the next mark.
    mutating func setMark(_ timer: any ScheduledAction) { mark = timer }

    /// Stores the task that asks for a fresh URL.
    mutating func setRefresh(_ task: Task<Void, Never>) { refresh = task }

    /// Removes and returns the timer of a retry, to be canceled.
    mutating func takeRetry() -> (any ScheduledAction)? { retry.take() }

    /// Removes and returns the task that asks for a fresh URL, to be canceled.
    mutating func takeRefresh() -> Task<Void, Never>? { refresh.take() }

    /// Removes and returns all timers, to be canceled.
    mutating func takeTimers() -> [any ScheduledAction] {
        [tick.take(), retry.take(), mark.take()].compactMap { $0 }
    }
}
