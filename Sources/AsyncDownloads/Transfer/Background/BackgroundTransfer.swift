internal import Foundation

/// The subscribers and handles of one resource in a background session, and their present state.
///
/// The session makes the decisions on its own queue; this type keeps the subscribers, and delivers their events and
/// outcomes. A subscriber can be paused, canceled, and read immediately, before the session has processed anything.
final class BackgroundTransfer: Sendable {
    struct State {
        var subscribers = SubscriberSet()
        /// The deliveries in the journal's record that serve the subscribers, including forgotten ones, and the
        /// downloads of the subscribers.
        var bindings: [SubscriberID: (delivery: Int, download: DownloadID)] = [:]
        /// The subscribers with the outcome of their delivery that the app has not received yet.
        private(set) var unacknowledged: Set<SubscriberID> = []
        /// The number of the record in the journal; nil until the session has processed the first subscriber.
        var record: Int?
        /// The state of the work from the perspective of an active subscriber that isn't paused.
        var state = DownloadState.ready
        var progress = DownloadProgress()
        var hasEmittedStart = false
        /// The time at which progress was last emitted.
        var lastProgress: Duration?
        /// The last failed attempt.
        var failedAttempt: FailedAttempt?
        /// The state at the last notification of the observers.
        private var lastObservedState: DownloadState?

        /// Ends the subscribers of a delivery with its outcome.
        mutating func end(_ delivery: Int, _ outcome: Subscriber.Outcome) -> [DeferredEffect] {
            var effects: [DeferredEffect] = []
            for (id, subscriber) in Array(subscribers.active) where bindings[id]?.delivery == delivery {
                unacknowledged.insert(id)
                effects += subscribers.end(id, outcome.concerning(subscriber.request.url), at: progress)
            }
            return effects
        }

        /// Returns the record and the delivery of a subscriber when the app first receives its outcome; nil afterward.
        mutating func takeUnacknowledged(
            _ id: SubscriberID
        ) -> (record: Int, delivery: Int, download: DownloadID)? {
            guard unacknowledged.remove(id) != nil, let record, let binding = bindings[id] else { return nil }
            return (record, binding.delivery, binding.download)
        }

        /// Returns the error for a consumer of a subscriber whose task was canceled.
        func cancellation(of id: SubscriberID) -> DownloadError {
            if case .failure(let error)? = subscribers[id]?.outcome, error.code == .cancelled { return error }
            return DownloadError(.cancelled, retainedByteCount: progress.receivedByteCount)
        }
    }

    let key: TransferKey
    let session: BackgroundSession
    private let state = Mutex(State())

    init(key: TransferKey, session: BackgroundSession) {
        self.key = key
        self.session = session
    }

    /// Changes the state, and performs the effects after the lock is released.
    @discardableResult
    func update<Value: Sendable>(_ body: (inout State, inout [DeferredEffect]) -> Value) -> Value {
        let (value, effects) = state.withLock { state in
            var effects: [DeferredEffect] = []
            let value = body(&state, &effects)
            effects += state.notifyObservers()
            return (value, effects)
        }
        for effect in effects { effect() }
        return value
    }

    /// Attaches a subscriber, which the session processes later.
    ///
    /// - Parameter isSuperseding: Whether earlier subscribers end with ``DownloadError/Code/superseded``.
    /// - Returns: The subscriber, and the effects to perform without a lock.
    func attach(
        _ downloadID: DownloadID, _ request: DownloadRequest, networkAccess: NetworkAccess, isRunning: Bool,
        isSuperseding: Bool = false
    ) -> (id: SubscriberID, effects: [DeferredEffect]) {
        state.withLock { state in
            var effects: [DeferredEffect] = []
            let isCoalesced = !state.subscribers.isEmpty
            if isSuperseding {
                for id in state.subscribers.activeIDs {
                    effects += state.subscribers.end(
                        id, .failure(DownloadError(.superseded, url: request.url)), at: state.progress)
                }
            }
            var policies = ResolvedPolicies()
            policies.networkAccess = networkAccess
            let id = state.subscribers.add(downloadID, request, policies, isPaused: !isRunning, at: .zero)
            _ = state.subscribers.update(id) { $0.isCoalesced = isCoalesced }
            if state.state == .ready { state.state = .waiting }
            for event in state.presentation(isPaused: !isRunning, outcome: nil) {
                effects += state.subscribers.update(id) { $0.emit(event) } ?? []
            }
            return (id, effects)
        }
    }

    /// The networks that the subscribers permit together; nil without active subscribers.
    var permittedNetworks: PermittedNetworks? {
        update { state, _ in state.subscribers.combinedPolicies.map { PermittedNetworks($0.networkAccess) } }
    }

    /// Whether no subscriber is waiting for its outcome.
    var isIdle: Bool { update { state, _ in state.subscribers.isEmpty } }

    /// Whether a subscriber is waiting for its outcome, and whether all waiting subscribers are paused.
    var demand: (isActive: Bool, isPaused: Bool) {
        update { state, _ in (!state.subscribers.isEmpty, state.subscribers.arePaused) }
    }

    // MARK: Inputs from the session

    /// Returns whether a subscriber is waiting for its outcome.
    func isActive(_ id: SubscriberID) -> Bool {
        update { state, _ in state.subscribers[id].map { $0.outcome == nil } ?? false }
    }

    /// Binds a subscriber to the delivery that serves it.
    func bind(_ id: SubscriberID, _ download: DownloadID, to delivery: Int, of record: Int) {
        update { state, _ in
            state.record = record
            state.bindings[id] = (delivery, download)
        }
    }

    /// The number of the record in the journal; nil until the session has processed a subscriber.
    var record: Int? { update { state, _ in state.record } }

    /// Returns the delivery and record of a subscriber, and whether another subscriber needs the same delivery because
    /// it has no outcome or the app has not received its outcome yet.
    func binding(of id: SubscriberID) -> (record: Int, delivery: Int, download: DownloadID, isShared: Bool)? {
        update { state, _ in
            guard let record = state.record, let (delivery, download) = state.bindings[id] else { return nil }
            let needing = state.subscribers.activeIDs + state.unacknowledged
            let isShared = needing.contains { $0 != id && state.bindings[$0]?.delivery == delivery }
            return (record, delivery, download, isShared)
        }
    }

    /// Reports an event to the subscribers.
    func emit(_ event: BackgroundCore.Event, interval: Duration, at now: Duration, date: HTTPDate) {
        update { state, effects in
            if case .stopped = event {
                // The caller has to resume the download, which requires its handles to be paused.
                for id in state.subscribers.activeIDs { _ = state.subscribers.setPaused(true, id, at: .zero) }
            }
            if case .retrying(_, let delay, let error) = event {
                state.failedAttempt = FailedAttempt(error, retriedAfter: delay, at: date)
            }
            for event in state.apply(event, interval: interval, at: now) { effects += state.subscribers.emit(event) }
        }
    }

    /// The closure of the first subscriber that can supply a fresh URL.
    var urlRefresh: URLRefresh? {
        update { state, _ in state.subscribers.active.lazy.compactMap(\.subscriber.request.refreshURL).first }
    }

    /// Ends the subscribers of a delivery with its outcome.
    func end(_ delivery: Int, _ outcome: Subscriber.Outcome) {
        update { state, effects in effects += state.end(delivery, outcome) }
    }

    /// Ends one subscriber, or all if `id` is nil, without affecting the download.
    func end(_ id: SubscriberID?, _ error: DownloadError) {
        update { state, effects in
            for (other, subscriber) in state.subscribers.active where id == nil || id == other {
                effects += state.subscribers.end(
                    other, .failure(error).concerning(subscriber.request.url), at: state.progress)
            }
        }
    }
}

extension BackgroundTransfer.State {
    /// Returns the first events of a stream that is opened after the start of the download.
    func presentation(isPaused: Bool, outcome: Subscriber.Outcome?) -> [DownloadEvent] {
        switch outcome {
        case .success(let file): return [.finished(file)]
        case .failure: return []
        case nil: break
        }
        if isPaused { return [.paused(receivedByteCount: progress.receivedByteCount)] }
        switch state {
        case .downloading:
            return hasEmittedStart
                ? [.started(progress.expectedByteCount), .progress(progress)] : []
        case .verifying: return [.verifying]
        case .paused: return [.paused(receivedByteCount: progress.receivedByteCount)]
        default: return [.waiting(reason: .system)]
        }
    }

    /// Applies an event from the session, and returns the resulting events for subscribers.
    mutating func apply(_ event: BackgroundCore.Event, interval: Duration, at now: Duration) -> [DownloadEvent] {
        switch event {
        case .waiting:
            guard state != .waiting else { return [] }
            state = .waiting
            return [.waiting(reason: .system)]
        case .running(let received, let expected):
            let isFirst = !hasEmittedStart || state != .downloading
            state = .downloading
            progress.receivedByteCount = received
            progress.expectedByteCount = expected
            progress.fetchedByteCount = max(progress.fetchedByteCount, received)
            var events: [DownloadEvent] = []
            if !hasEmittedStart {
                hasEmittedStart = true
                events.append(.started(expected))
            }
            if isFirst || lastProgress.map({ now - $0 >= interval }) ?? true {
                lastProgress = now
                events.append(.progress(progress))
            }
            return events
        case .paused(let received), .stopped(let received):
            state = .paused
            progress.receivedByteCount = received
            return [.paused(receivedByteCount: received)]
        case .restarted(let reason, let discarded):
            state = .waiting
            progress.receivedByteCount = 0
            return [.restarted(reason: reason, discardedByteCount: discarded)]
        case .retrying(let attempt, let delay, let error):
            state = .retrying
            return [.retrying(attempt: attempt, delay: delay, error: error)]
        case .verifying:
            state = .verifying
            return [.verifying]
        }
    }

    /// Returns the status of a subscriber.
    func status(of id: SubscriberID) -> SubscriberStatus {
        guard let subscriber = subscribers[id] else { return SubscriberStatus() }
        if let outcome = subscriber.outcome { return .ended(outcome, subscriber.lastProgress) }
        var status = SubscriberStatus(
            state: state == .verifying ? .verifying : subscriber.isPaused ? .paused : state, progress: progress)
        switch status.state {
        case .waiting: status.waitingReason = .system
        case .retrying: (status.error, status.nextAttempt) = (failedAttempt?.error, failedAttempt?.nextAttempt)
        default: break
        }
        return status
    }

    /// Returns the effects that notify observers of a changed state.
    fileprivate mutating func notifyObservers() -> [DeferredEffect] {
        if state != lastObservedState { subscribers.allChanged() }
        lastObservedState = state
        return subscribers.notifications()
    }
}

extension DownloadEvent {
    /// The start of a download; the system reports only its length.
    fileprivate static func started(_ expectedByteCount: Int64?) -> Self {
        .started(expectedByteCount: expectedByteCount, isResumable: true, suggestedName: nil, contentType: nil)
    }
}
