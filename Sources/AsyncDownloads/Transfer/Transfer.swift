internal import Dispatch
internal import Foundation

/// The work of fetching one resource once, on behalf of any number of callers.
///
/// A lock around the state machine and the callers. Inputs come from callers, the engine, the store and the clock, on
/// any thread; each is decided under the lock, and what was decided is carried out outside of it, in the order of the
/// decisions, by whichever thread finds nobody doing so. Continuations are resumed and the engine is called without a
/// lock held. Everything of the store that may block runs on a serial queue of the transfer's own.
final class Transfer: Sendable {
    struct State {
        var machine: TransferStateMachine
        var subscribers = SubscriberSet()
        var pending: [TransferAction] = []
        var isPerforming = false
        var partial: (any Partial)?
        /// The file that the bytes were imported from, until a server has confirmed them.
        var importedFile: ImportedFile?
        /// Of the bytes in ``partial``.
        var digests = TransferDigests()
        /// Whether every subscriber has its result, so that nobody can attach any more.
        var isServed = false
        /// Whether the bytes move to disk, on the store's queue, so that none may be written beside it.
        var isLeavingMemory = false
        /// What receives the callbacks of the exchanges that have not ended.
        var receivers: [ExchangeID: ExchangeReceiver] = [:]
        var permit = Permit()
        /// The reserved paths of subscribers that have left, for which a file may still be placed.
        var heldPaths: [HeldPath] = []
        var tick: (any ScheduledAction)?
        var retry: (any ScheduledAction)?
        var mark: (any ScheduledAction)?
        /// What asks a subscriber for a fresh URL.
        var refresh: Task<Void, Never>?
        /// What observers were woken for last.
        var lastObservedPhase: TransferStateMachine.Phase?
    }

    /// The reserved path of a subscriber that has left.
    struct HeldPath {
        let path: String
        /// Whether its file may be placed in the present round of the delivery, and not in a later one.
        let isClosing: Bool
    }

    /// The transfer's request at the scheduler.
    struct Permit {
        var ticket: PermitQueue.Ticket?
        /// The first ticket, whose place in line all later ones have.
        var place: PermitQueue.Ticket?
        /// The priority that the scheduler knows.
        var priority = DownloadRequest.Priority.normal
    }

    let key: TransferKey
    let location: PartialLocation
    let environment: TransferEnvironment
    let queue: DispatchQueue
    /// Counts the transfers of a downloader in the order in which they were started.
    let number: Int
    private let onResourcesReleased: @Sendable (Transfer) -> Void
    private let onFinished: @Sendable (Transfer) -> Void
    private let state: Mutex<State>

    /// Creates a transfer that has not begun.
    ///
    /// - Parameters:
    ///   - whenClosed: Called once, when nothing of the transfer remains open, on any thread. Callers hear of the end
    ///     after it, so that whoever does finds the place free.
    ///   - whenOver: Called once, when every caller has heard.
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

    // A class of service of its own has worker threads of its own: URLSession's busy ones must not hold a checkpoint up.
    private static let storeQueue = DispatchQueue(
        label: "async-downloads.stores", qos: .userInitiated, attributes: .concurrent)

    /// Reads the state.
    func withState<Value: Sendable>(_ body: (State) -> Value) -> Value {
        state.withLock { body($0) }
    }

    /// Takes one input: decides under the lock, then acts outside of it.
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

    /// Decides under the lock now, and leaves it to the caller when to act; nil where there is nothing to do.
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

    /// Takes an input that leads to no action, and that observers need not be told of.
    func updateQuietly<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    /// Takes one input of the state machine's.
    func input(_ decide: (inout TransferStateMachine) -> [TransferAction]) {
        update { state, decision in decision.actions += decide(&state.machine) }
    }

    /// What one input led to.
    struct Decision {
        var actions: [TransferAction] = []
        var effects: [DeferredEffect] = []
    }

    private func enqueue(_ decision: inout Decision, in state: inout State) -> [DeferredEffect] {
        leaveLate(&state, &decision)
        var effects = decision.effects
        for action in decision.actions {
            switch action {
            case .emit(let event):
                // Logged when no lock is held: a log handler may ask for the state of the download.
                if let entry = logEntry(event) {
                    effects.append(DeferredEffect { [environment] in entry(environment.log) })
                }
                effects += state.subscribers.emit(event)
            default:
                state.pending.append(action)
            }
        }
        if let retry = state.retry, !state.machine.awaitsTimer {
            // A timer that nobody waits for any more would hold the transfer until it goes off.
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
                log.notice("restarted, \(reason), \(discarded) bytes given up [\(redactedURL)]")
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
        // The key's URL was one when the request was taken.
        URL(string: key.url)?.redacted ?? "?"
    }

    /// Ends it for every caller, after the last of its actions.
    func end(_ ending: TransferEnding) {
        onResourcesReleased(self)
        update { state, decision in decision.effects += state.subscribers.end(ending) }
        onFinished(self)
    }
}
