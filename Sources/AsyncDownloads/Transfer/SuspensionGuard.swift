internal import Dispatch

/// Keeps the process from being suspended while transfers run, and stops them before the system suspends it.
///
/// The system ends a process that is suspended while it has locked a file in the container of an app group, which a
/// running transfer does. When the system is about to suspend the process, all running subscribers are therefore
/// paused, and they are resumed when the app returns to the foreground.
final class SuspensionGuard: Sendable {
    private struct State {
        /// The number of the last activity that was begun.
        var lastNumber = 0
        /// Whether an activity exists, or is about to.
        var isActive = false
        var activity: (any ScheduledAction)?
        /// The subscribers that were paused by the guard.
        var parked: [(transfer: TransferSlot, id: SubscriberID)] = []
        var observation: (any ScheduledAction)?

        /// Removes the activity, and returns it if it was stored.
        mutating func removeActivity() -> (any ScheduledAction)? {
            defer { activity = nil }
            isActive = false
            return activity
        }
    }

    private let lifecycle: any AppLifecycle
    private let registry: TransferRegistry
    private let state = Mutex(State())

    init(lifecycle: any AppLifecycle, registry: TransferRegistry) {
        self.lifecycle = lifecycle
        self.registry = registry
        let observation = lifecycle.observe { [weak self] change in
            if change == .willEnterForeground { self?.resumeParked() }
        }
        state.withLock { $0.observation = observation }
    }

    deinit {
        let (observation, activity) = state.withLock { ($0.observation, $0.activity) }
        observation?.cancel()
        activity?.cancel()
    }

    /// Begins an activity, unless there is one.
    ///
    /// This method is called after a transfer was started or resumed.
    func transferStarted() {
        let number = state.withLock { state -> Int? in
            guard !state.isActive else { return nil }
            state.isActive = true
            state.lastNumber += 1
            return state.lastNumber
        }
        guard let number else { return }
        let activity = lifecycle.beginActivity("downloading files") { [weak self] in self?.expired(number) }
        let surplus = state.withLock { state -> (any ScheduledAction)? in
            // The race of the beginning with the expiry, or with the end of the last transfer.
            guard state.isActive, state.lastNumber == number else { return activity }
            state.activity = activity
            return nil
        }
        surplus?.cancel()
        // The race of the start with the end of the transfer.
        transferEnded()
    }

    /// Ends the activity if no transfer is left.
    func transferEnded() {
        guard registry.isEmpty else { return }
        state.withLock { $0.removeActivity() }?.cancel()
        // The race with a transfer that was started meanwhile, and that found the activity.
        if !registry.isEmpty { transferStarted() }
    }

    private func expired(_ number: Int) {
        state.withLock { state in
            if state.lastNumber == number { _ = state.removeActivity() }
        }
        park()
    }

    /// Pauses everything that runs, and waits until its files are closed, for at most four seconds.
    private func park() {
        let transfers = registry.transfers
        var parked: [(transfer: TransferSlot, id: SubscriberID)] = []
        // Those that wait come first, because a running one releases its permit, which would start them.
        let waiting = transfers.filter(\.isWaiting)
        for transfer in waiting + transfers {
            for id in transfer.runningSubscribers {
                transfer.pause(id)
                parked.append((transfer, id))
            }
        }
        state.withLock { $0.parked += parked }
        // The process is suspended when this function returns, so it has to wait; there is no later moment.
        let busy = DispatchGroup()
        for transfer in transfers {
            busy.enter()
            transfer.whenResting { busy.leave() }
        }
        _ = busy.wait(timeout: .now() + 4)
    }

    private func resumeParked() {
        let parked = state.withLock { state in
            defer { state.parked = [] }
            return state.parked
        }
        // Those that ran get their permits before those that waited.
        for (transfer, id) in parked.sorted(by: { $0.transfer.number < $1.transfer.number }) { transfer.resume(id) }
    }
}
