internal import Dispatch
internal import Foundation

/// The work of fetching one resource once, on behalf of any number of subscribers.
///
/// A transfer is a lock around the state machine and the subscribers. Inputs come from subscribers, the engine, the
/// store, and the clock, on any thread. Each input is decided under the lock. Actions run outside the lock in FIFO
/// order: the first thread that finds the queue idle drains it; others only enqueue. No lock is held when a
/// continuation is resumed or the engine is called. Operations of the store that may block run on a serial queue that
/// belongs to the transfer.
final class Transfer: Sendable {
    struct State {
        var machine: TransferStateMachine
        var subscribers = SubscriberSet()
        var pending: [TransferAction] = []
        var isPerforming = false
        var partial: (any Partial)?
        /// The file from which bytes were imported, until a server has confirmed them.
        var importedFile: ImportedFile?
        /// The digests of the bytes in ``partial``.
        var digests = TransferDigests()
        /// Whether every subscriber has its result, so that no further one can attach.
        var isServed = false
        /// Whether the bytes are being moved to disk on the transfer's queue, which all writes then use.
        var isMovingToDisk = false
        /// The receivers of the exchanges that have not ended.
        var receivers: [ExchangeID: ExchangeReceiver] = [:]
        var permit = Permit()
        /// The reserved paths of detached subscribers at which a file may still be placed.
        var heldPaths: [HeldPath] = []
        var tick: (any ScheduledAction)?
        var retry: (any ScheduledAction)?
        var mark: (any ScheduledAction)?
        /// The task that asks a subscriber for a fresh URL.
        var refresh: Task<Void, Never>?
        /// The phase for which observers were last notified.
        var lastObservedPhase: TransferStateMachine.Phase?
    }

    /// The reserved path of a detached subscriber.
    struct HeldPath {
        let path: String
        /// Whether the file may be placed in the current round of the delivery, but not in a later one.
        let isClosing: Bool
    }

    /// The transfer's request to the scheduler.
    struct Permit {
        var ticket: PermitQueue.Ticket?
        /// The first ticket, whose place in line all later ones keep.
        var place: PermitQueue.Ticket?
        /// The priority that was last passed to the scheduler, or is about to be.
        var priority = DownloadRequest.Priority.normal
    }

    let key: TransferKey
    let location: PartialLocation
    let environment: TransferEnvironment
    let queue: DispatchQueue
    /// The number of the transfer, in the order in which the downloader started its transfers.
    let number: Int
    private let onResourcesReleased: @Sendable (Transfer) -> Void
    private let onFinished: @Sendable (Transfer) -> Void
    private let state: Mutex<State>

    /// Creates a transfer that has not started.
    ///
    /// - Parameters:
    ///   - onResourcesReleased: Called once, on any thread, when the transfer no longer holds any resources.
    ///     Subscribers receive their outcomes after it, so that a request that follows finds the key and the
    ///     destination free.
    ///   - onFinished: Called once, when every subscriber has received its outcome.
    init(
        number: Int, key: TransferKey, location: PartialLocation, settings: TransferSettings,
        environment: TransferEnvironment,
        onResourcesReleased: @escaping @Sendable (Transfer) -> Void, onFinished: @escaping @Sendable (Transfer) -> Void
    ) {
        self.number = number
        self.key = key
        self.location = location
        self.environment = environment
        self.onResourcesReleased = onResourcesReleased
        self.onFinished = onFinished
        queue = DispatchQueue(label: "async-downloads.store", target: Self.storeQueue)
        let machine = TransferStateMachine(settings: settings, seed: UInt64.random(in: .min ... .max))
        state = Mutex(State(machine: machine))
    }

    // A separate quality-of-service class has separate worker threads, so that busy threads of URLSession cannot delay
    // a checkpoint.
    private static let storeQueue = DispatchQueue(
        label: "async-downloads.stores", qos: .userInitiated, attributes: .concurrent)

    /// Returns a value that is computed from the state under the lock.
    func withState<Value: Sendable>(_ body: (State) -> Value) -> Value {
        state.withLock { body($0) }
    }

    /// Handles one input: decides under the lock, then acts outside it.
    @discardableResult
    func update<Value: Sendable>(_ decide: (inout State, inout Decision) -> Value) -> Value {
        let (value, effects) = state.withLock { state in
            var decision = Decision()
            let value = decide(&state, &decision)
            return (value, enqueue(&decision, in: &state))
        }
        for effect in effects { effect() }
        perform()
        return value
    }

    /// Decides under the lock, and lets the caller perform the effects later; nil if there is nothing to do.
    func decideLater(_ decide: (inout State, inout Decision) -> SubscriberID?) -> Attachment? {
        state.withLock { state in
            var decision = Decision()
            guard let id = decide(&state, &decision) else { return nil }
            let effects = enqueue(&decision, in: &state)
            return Attachment(id: id) { [self] in
                for effect in effects { effect() }
                perform()
            }
        }
    }

    /// Handles an input that leads to no action and that no observer needs to know about.
    func updateQuietly<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        state.withLock { body(&$0) }
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

    private func enqueue(_ decision: inout Decision, in state: inout State) -> [DeferredEffect] {
        detachLate(&state, &decision)
        var effects = decision.effects
        for action in decision.actions {
            switch action {
            case .emit(let event):
                // Logged when no lock is held, because a log handler may read the state of the download.
                if let entry = logEntry(event) {
                    effects.append(DeferredEffect { [environment] in entry(environment.log) })
                }
                effects += state.subscribers.emit(event)
            default:
                state.pending.append(action)
            }
        }
        if let retry = state.retry, !state.machine.awaitsTimer {
            // A timer that is no longer awaited would keep the transfer in memory until it fires.
            state.retry = nil
            effects.append(DeferredEffect { retry.cancel() })
        }
        return effects + state.notifyObservers()
    }

    private func perform() {
        while true {
            let actions: [TransferAction] = state.withLock { state in
                guard !state.isPerforming, !state.pending.isEmpty else { return [] }
                state.isPerforming = true
                defer { state.pending = [] }
                return state.pending
            }
            if actions.isEmpty { return }
            for action in actions { perform(action) }
            state.withLock { $0.isPerforming = false }
        }
    }

    private func logEntry(_ event: DownloadEvent) -> (@Sendable (Log) -> Void)? {
        switch event {
        case .restarted(let reason, let discarded):
            return { [redactedURL] log in
                log.notice("restarted, \(reason), \(discarded) bytes discarded [\(redactedURL)]")
            }
        case .retrying(let attempt, let delay, let error):
            return { [redactedURL] log in
                log.debug("retry \(attempt) in \(delay) after \(error) [\(redactedURL)]")
            }
        default:
            return nil
        }
    }

    private var redactedURL: String {
        // The key's URL was valid when the request was accepted.
        URL(string: key.url)?.redacted ?? "?"
    }

    /// Ends the transfer for every subscriber, after the last of its actions.
    func end(_ ending: TransferEnding) {
        onResourcesReleased(self)
        update { state, decision in decision.effects += state.subscribers.end(ending) }
        onFinished(self)
    }
}
