internal import Dispatch

/// Prevents the suspension of the process while transfers run, and pauses them before the system suspends it.
///
/// The system terminates a process that is suspended while it holds a lock on a file in an app group's container, as a
/// running transfer does. When the system is about to suspend the process, all running subscribers are therefore
/// paused; they are resumed when the app returns to the foreground.
final class SuspensionGuard: Sendable {
    private struct State {
        /// The number of the last activity that was begun.
        var lastNumber = 0
        /// Whether an activity exists or is about to be stored.
        var isActive = false
        var activity: (any ScheduledAction)?
        /// The subscribers that the guard has paused.
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

    /// Begins an activity, unless one exists.
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
            // The activity may have expired, or the last transfer may have ended, before the activity was stored.
            guard state.isActive, state.lastNumber == number else { return activity }
            state.activity = activity
            return nil
        }
        surplus?.cancel()
        // The transfer may have ended in the meantime.
        transferEnded()
    }

    /// Ends the activity if no transfer is left.
    func transferEnded() {
        guard registry.isEmpty else { return }
        state.withLock { $0.removeActivity() }?.cancel()
        // A transfer may have been started in the meantime that found the activity still active.
        if !registry.isEmpty { transferStarted() }
    }

    private func expired(_ number: Int) {
        state.withLock { state in
            if state.lastNumber == number { _ = state.removeActivity() }
        }
        park()
    }

    /// Pauses all running subscribers, and waits until their files are closed, or the time for that has passed.
    private func park() {
        let transfers = registry.transfers
        var parked: [(transfer: TransferSlot, id: SubscriberID)] = []
        // Waiting transfers come first: a running transfer that is paused releases its permit, which could start a
        // waiting one.
        let waiting = transfers.filter(\.isWaiting)
        for transfer in waiting + transfers {
            for id in transfer.runningSubscribers {
                transfer.pause(id)
                parked.append((transfer, id))
            }
        }
        state.withLock { $0.parked += parked }
        // The process is suspended when this function returns, so this is the last opportunity to wait.
        let busy = DispatchGroup()
        for transfer in transfers {
            busy.enter()
            transfer.whenResting { busy.leave() }
        }
        _ = busy.wait(timeout: .now() + lifecycle.closingTime)
    }

    private func resumeParked() {
        let parked = state.withLock { state in
            defer { state.parked = [] }
            return state.parked
        }
        // Transfers that were running get their permits before transfers that were waiting.
        for (transfer, id) in parked.sorted(by: { $0.transfer.number < $1.transfer.number }) { transfer.resume(id) }
    }
}
