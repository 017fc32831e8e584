extension ActiveTransfer {
    /// The state of an active transfer, protected by its lock.
    struct State {
        var machine: TransferStateMachine
        var subscribers = SubscriberSet()
        var actions = ActionQueue()
        var storage: TransferStorage
        var delivery = DeliveryState()
        var acceptance = ResponseAcceptance()
        var connections = TransferConnections()
        var permit = TransferPermit()
        var scheduled = ScheduledWork()
        /// The last failed attempt, unless a response was accepted since.
        private var failedAttempt: FailedAttempt?
        /// The state of the machine at the last notification of the observers.
        private var lastObservedState: ObservedState?
        /// The effects to perform when the transfer is paused or has ended.
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
        withState { state in state.status(of: id, waiting: environment.waitingReason) }
    }

    /// The subscribers without an outcome.
    var activeSubscribers: [SubscriberID] { withState { $0.subscribers.activeIDs } }

    /// The subscribers that aren't paused.
    var runningSubscribers: [SubscriberID] {
        withState { state in state.subscribers.active.filter { !$0.subscriber.isPaused }.map(\.id) }
    }

    /// Whether the transfer is waiting for a permit.
    var isWaiting: Bool { withState { $0.machine.phase == .waiting } }

    /// Calls `body` once when the transfer is paused or has ended, so that its files are closed.
    func whenResting(_ body: @escaping @Sendable () -> Void) {
        update { state, _ in state.addRestWaiter(DeferredEffect(body)) }
    }
}

extension ActiveTransfer.State {
    /// Adds an effect to perform when the transfer is paused or has ended.
    mutating func addRestWaiter(_ effect: DeferredEffect) {
        restWaiters.append(effect)
    }

    /// Removes and returns these effects if the transfer is paused or has ended.
    mutating func takeRestWaiters() -> [DeferredEffect] {
        guard !restWaiters.isEmpty, machine.phase == .paused || machine.phase == .ended else { return [] }
        defer { restWaiters = [] }
        return restWaiters
    }

    /// The failure of the last attempt; nil if a response was accepted since.
    var lastFailure: DownloadError? { failedAttempt?.error }

    /// Records a failed attempt that will be repeated.
    mutating func attemptFailed(_ attempt: FailedAttempt) {
        failedAttempt = attempt
    }

    /// Records that a response was accepted, or that bytes have arrived.
    mutating func attemptSucceeded() {
        failedAttempt = nil
    }

    /// Returns the effects that notify observers of changes.
    mutating func notifyObservers() -> [DeferredEffect] {
        // Most transfers have none, and this method is called after each input.
        guard subscribers.hasObservers else { return [] }
        let present = ActiveTransfer.ObservedState(
            phase: machine.phase, isWaitingForConnectivity: machine.isWaitingForConnectivity)
        if present != lastObservedState { subscribers.allChanged() }
        lastObservedState = present
        return subscribers.notifications()
    }

    /// Returns the status of one subscriber.
    ///
    /// - Parameter reason: Returns the reason why the request for a permit is waiting; nil if it is only queued.
    func status(
        of id: SubscriberID, waiting reason: (PermitQueue.Ticket) -> WaitingReason?
    ) -> SubscriberStatus {
        if let subscriber = subscribers[id], let outcome = subscriber.outcome {
            return .ended(outcome, subscriber.lastProgress)
        }
        var status = SubscriberStatus(state: state(of: id), progress: machine.progress)
        switch status.state {
        case .waiting:
            status.waitingReason = machine.awaitedNetwork?.waitingReason ?? permit.ticket.flatMap(reason) ?? .turn
            status.nextAttempt = status.waitingReason?.end
        case .retrying:
            (status.error, status.nextAttempt) = (failedAttempt?.error, failedAttempt?.nextAttempt)
        case .ready, .downloading, .paused, .verifying, .completed, .cancelled, .failed:
            break
        }
        return status
    }

    /// Returns the state from the perspective of a subscriber without an outcome.
    private func state(of id: SubscriberID) -> DownloadState {
        guard let subscriber = subscribers[id] else { return .failed }
        if machine.phase == .finishing { return .verifying }
        // A transfer that stops because of its last subscriber counts as paused when the bytes are stored.
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
    /// The properties of the machine that determine the public states.
    struct ObservedState: Hashable {
        let phase: TransferStateMachine.Phase
        let isWaitingForConnectivity: Bool
    }
}

/// The timers of a transfer, and the task that asks a subscriber for a fresh URL or for secret headers.
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

    /// Stores the task that asks for a fresh URL or for secret headers.
    mutating func setRefresh(_ task: Task<Void, Never>) { refresh = task }

    /// Removes and returns the timer of a retry to be canceled.
    mutating func takeRetry() -> (any ScheduledAction)? { retry.take() }

    /// Removes and returns the task that asks for a fresh URL or for secret headers, to be canceled.
    mutating func takeRefresh() -> Task<Void, Never>? { refresh.take() }

    /// Removes and returns all timers to be canceled.
    mutating func takeTimers() -> [any ScheduledAction] {
        [tick.take(), retry.take(), mark.take()].compactMap { $0 }
    }
}
