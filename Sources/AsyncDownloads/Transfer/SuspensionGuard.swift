internal import Foundation

/// Keeps the process from being suspended while transfers run, and stops them before the system suspends it.
///
/// The system ends a process that is suspended while it has locked a file in the container of an app group, which a
/// running transfer does. When the system is about to suspend the process, all running subscribers are therefore
/// paused, and they are resumed when the app returns to the foreground.
final class SuspensionGuard: Sendable {
    private struct State {
        var activity: (any ScheduledAction)?
        /// The subscribers that were paused by the guard.
        var parked: [(transfer: Transfer, id: SubscriberID)] = []
        var observation: (any ScheduledAction)?
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

    /// Asks for time to run, unless that was done before.
    func transferStarted() {
        guard state.withLock({ $0.activity == nil }) else { return }
        let activity = lifecycle.beginActivity("downloading files") { [weak self] in self?.park() }
        let surplus = state.withLock { state -> (any ScheduledAction)? in
            guard state.activity == nil else { return activity }
            state.activity = activity
            return nil
        }
        surplus?.cancel()
        // The race of the start with the end of the transfer.
        transferEnded()
    }

    /// Gives the time back if no transfer is left.
    func transferEnded() {
        guard registry.isEmpty else { return }
        let activity = state.withLock { state in
            defer { state.activity = nil }
            return state.activity
        }
        activity?.cancel()
    }

    /// Pauses everything that runs, and waits until its files are closed, for at most four seconds.
    private func park() {
        state.withLock { $0.activity = nil }
        let transfers = registry.transfers
        var parked: [(transfer: Transfer, id: SubscriberID)] = []
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
        for _ in 0..<400 {
            let isBusy = transfers.contains { transfer in
                // A queued transfer has no files.
                transfer.isActive
                    && transfer.withState { $0.machine.phase != .paused && $0.machine.phase != .ended }
            }
            guard isBusy else { return }
            Thread.sleep(forTimeInterval: 0.01)
        }
    }

    private func resumeParked() {
        let parked = state.withLock { state in
            defer { state.parked = [] }
            return state.parked
        }
        guard !parked.isEmpty else { return }
        transferStarted()
        for (transfer, id) in parked { transfer.resume(id) }
    }
}
