internal import Foundation

/// The subscribers of one transfer, and their combined requirements.
///
/// The cost of combining their policies depends on the number of distinct policies, which is small, and not on the
/// number of subscribers. A subscriber with an outcome is removed when its handles, streams, consumers, and observers
/// are gone.
struct SubscriberSet: Sendable {
    typealias Outcome = Subscriber.Outcome

    /// The subscribers without an outcome.
    private var running = SerialTable<SubscriberID, Subscriber>()
    /// The subscribers with an outcome that are still referenced.
    private var ended: [SubscriberID: Subscriber] = [:]
    private var pausedCount = 0
    /// The distinct policies of the running subscribers.
    private var policies = ResolvedPolicies.Tally()
    /// The distinct policies of the running subscribers that aren't paused.
    private var unpausedPolicies = ResolvedPolicies.Tally()
    /// The subscriber that was detached last; the transfer may continue on its behalf.
    private(set) var lastDetached: (id: SubscriberID, request: DownloadRequest)?

    /// The downloads to record with the bytes.
    ///
    /// These are the subscribers without an outcome, and the subscribers that were ended only by a shutdown. The last
    /// subscriber remains recorded, because its bytes are kept.
    private(set) var recorded: [(id: DownloadID, request: DownloadRequest)] = []

    /// The algorithms of the checksums that present and detached subscribers expect.
    private(set) var algorithms: Set<Checksum.Algorithm> = []
    /// Whether a subscriber specifies no checksum, so that the server's digest is used.
    private(set) var isAnyUnchecked = false
    /// Whether a subscriber, possibly detached, wants a file.
    private(set) var wantsFile = false
    /// Whether an observer has ever been added.
    private(set) var hasObservers = false
    /// The subscribers that have changed since the last call of ``notifications()``; nil for all.
    private var changed: Set<SubscriberID>? = []
    private var subscriberNumbers = SerialNumbers<SubscriberID>()
    private var streamNumbers = SerialNumbers<StreamID>()
    private var waiterNumbers = SerialNumbers<WaiterID>()
    private var observerNumbers = SerialNumbers<ObserverID>()

    /// The subscribers without an outcome, in the order in which they attached.
    var active: some Sequence<(id: SubscriberID, subscriber: Subscriber)> {
        running.elements.lazy.map { (id: $0.id, subscriber: $0.element) }
    }

    /// The identifiers of the subscribers without an outcome, in the order in which they attached.
    var activeIDs: [SubscriberID] { running.ids }

    /// The number of subscribers without an outcome.
    var activeCount: Int { running.count }

    /// The identifiers of all subscribers.
    var ids: [SubscriberID] { running.ids + ended.keys }

    /// Returns a subscriber; nil after it was removed.
    subscript(id: SubscriberID) -> Subscriber? { running[id] ?? ended[id] }

    /// Whether every subscriber has its outcome.
    var isEmpty: Bool { activeCount == 0 }

    /// Whether every subscriber without an outcome is paused.
    var arePaused: Bool { activeCount > 0 && pausedCount == activeCount }

    /// The highest priority of the subscribers without an outcome.
    var priority: DownloadRequest.Priority { policies.values.lazy.map(\.priority).max() ?? .low }

    /// The combined policies of the subscribers without an outcome; nil if every subscriber has its outcome.
    var combinedPolicies: ResolvedPolicies? {
        var all = policies.combined
        // A detached subscriber may have wanted a file.
        all?.wantsFile = wantsFile
        // A network is used only if a subscriber that isn't paused permits it.
        if let unpaused = unpausedPolicies.combined { all?.networkAccess = unpaused.networkAccess }
        return all
    }

    /// Returns the subscribers that accept fewer than `count` bytes, if other subscribers accept more.
    func oversized(_ count: Int64) -> [(id: SubscriberID, error: DownloadError)] {
        let limits = policies.values.lazy.map(\.maximumByteCount)
        guard limits.contains(where: { $0.map { $0 < count } ?? false }), limits.contains(where: { $0 != limits.first })
        else { return [] }
        return active.compactMap { active in
            active.subscriber.policies.excess(count).map { (active.id, $0) }
        }
    }

    /// Returns the subscribers whose deadline passes during a delay that starts now.
    func late(after delay: Duration, at now: Duration) -> [(id: SubscriberID, clock: DeadlineClock)] {
        active.compactMap { active in
            guard let clock = active.subscriber.deadline, let left = clock.timeLeft(at: now), left <= delay else {
                return nil
            }
            return (active.id, clock)
        }
    }

    /// Returns the remaining time of a subscriber; nil without a deadline, during a pause, and after its end.
    func timeLeft(of id: SubscriberID, at now: Duration) -> Duration? {
        running[id]?.deadline?.timeLeft(at: now)
    }

    /// Opens a stream of a subscriber, and returns its identifier.
    ///
    /// - Parameter presentation: A closure that returns the events that describe the current state.
    mutating func openStream(
        _ stream: EventStream, of id: SubscriberID, _ effects: inout [DeferredEffect],
        _ presentation: (Subscriber) -> [DownloadEvent]
    ) -> StreamID {
        let number = streamNumbers.next()
        effects += update(id) { $0.openStream(stream, as: number, presentation) } ?? stream.finish(nil)
        return number
    }

    /// Adds an observer of a subscriber, and returns its identifier.
    mutating func addObserver(
        of id: SubscriberID, _ observer: @escaping @Sendable () -> Void
    ) -> ObserverID {
        hasObservers = true
        let number = observerNumbers.next()
        _ = update(id) { $0.addObserver(observer, as: number) }
        return number
    }

    /// Records a change that affects all subscribers, such as the state of the transfer.
    mutating func allChanged() {
        if hasObservers { changed = nil }
    }

    /// Records a change that affects one subscriber.
    private mutating func hasChanged(_ id: SubscriberID) {
        if hasObservers { changed?.insert(id) }
    }

    /// Returns the effects that notify the observers of all changes since the last call.
    mutating func notifications() -> [DeferredEffect] {
        guard hasObservers else { return [] }
        defer { changed = [] }
        return (changed.map(Array.init) ?? activeIDs).flatMap { self[$0]?.notifications ?? [] }
    }

    /// Creates the identifier of a consumer that awaits an outcome.
    mutating func newWaiter() -> WaiterID { waiterNumbers.next() }

    /// Continues the numbering of consumers that were created before this set.
    mutating func continueNumbers(of waiters: SerialNumbers<WaiterID>) {
        waiterNumbers = waiters
    }

    /// Adds a subscriber.
    ///
    /// Its history collects events from now on, and its deadline runs unless it is paused.
    mutating func add(
        _ downloadID: DownloadID, _ request: DownloadRequest, _ policies: ResolvedPolicies, isPaused: Bool = false,
        at now: Duration
    ) -> SubscriberID {
        let id = subscriberNumbers.next()
        if request.destination != .memory { wantsFile = true }
        if let checksum = request.checksum {
            algorithms.insert(checksum.algorithm)
        } else {
            isAnyUnchecked = true
        }
        if activeCount == 0 { recorded = [] }
        if recorded.count < RecordedSubscriber.maximumCount { recorded.append((downloadID, request)) }
        running.insert(Subscriber(downloadID, request: request, policies: policies, at: now), id: id)
        self.policies.insert(policies)
        unpausedPolicies.insert(policies)
        if isPaused { _ = setPaused(true, id, at: now) }
        return id
    }

    /// Changes the policies of a subscriber without an outcome, and returns whether they differ.
    mutating func updatePolicies(of id: SubscriberID, _ change: (inout ResolvedPolicies) -> Void) -> Bool {
        guard let old = running[id]?.policies else { return false }
        var new = old
        change(&new)
        guard new != old else { return false }
        _ = running.update(id) { $0.policies = new }
        policies.remove(old)
        policies.insert(new)
        if running[id]?.isPaused == false {
            unpausedPolicies.remove(old)
            unpausedPolicies.insert(new)
        }
        return true
    }

    /// Pauses or resumes one subscriber, and returns whether that changes anything.
    mutating func setPaused(_ isPaused: Bool, _ id: SubscriberID, at now: Duration) -> Bool {
        let isChange = running.update(id) { subscriber in
            guard subscriber.isPaused != isPaused else { return false }
            subscriber.setPaused(isPaused, at: now)
            return true
        }
        guard isChange == true, let policies = running[id]?.policies else { return false }
        pausedCount += isPaused ? 1 : -1
        if isPaused { unpausedPolicies.remove(policies) } else { unpausedPolicies.insert(policies) }
        hasChanged(id)
        return true
    }

    /// Sets the outcome of one subscriber, which is final.
    ///
    /// - Parameter progress: The final progress of the subscriber.
    mutating func end(
        _ id: SubscriberID, _ outcome: Outcome, at progress: DownloadProgress = DownloadProgress()
    ) -> [DeferredEffect] {
        guard var subscriber = running.remove(id) else { return [] }
        if subscriber.isPaused { pausedCount -= 1 } else { unpausedPolicies.remove(subscriber.policies) }
        policies.remove(subscriber.policies)
        lastDetached = (id, subscriber.request)
        if activeCount > 0, !outcome.isShutdown { recorded.removeAll { $0.id == subscriber.downloadID } }
        // The outcome is the last change, and observers are notified of it after the consumers.
        let effects = subscriber.end(outcome, at: progress) + subscriber.notifications
        if !subscriber.isForgettable { ended[id] = subscriber }
        return effects
    }

    /// Changes one subscriber, and removes it if nothing can refer to it anymore.
    mutating func update<Value>(_ id: SubscriberID, _ body: (inout Subscriber) -> Value) -> Value? {
        if running.contains(id) { return running.update(id, body) }
        guard var subscriber = ended.removeValue(forKey: id) else { return nil }
        defer { if !subscriber.isForgettable { ended[id] = subscriber } }
        return body(&subscriber)
    }

    /// Adds a handle to each subscriber without an outcome whose request is accepted by `isIncluded`.
    mutating func addHandles(where isIncluded: (DownloadID, DownloadRequest) -> Bool) -> [AddedHandle] {
        var handles: [AddedHandle] = []
        running.updateAll { id, subscriber in
            guard isIncluded(subscriber.downloadID, subscriber.request) else { return }
            subscriber.handleCount += 1
            handles.append(
                AddedHandle(
                    id: subscriber.downloadID, subscriber: id, request: subscriber.request,
                    isCoalesced: subscriber.isCoalesced))
        }
        return handles
    }

    /// Emits an event to every subscriber without an outcome; paused ones receive no progress.
    mutating func emit(_ event: DownloadEvent) -> [DeferredEffect] {
        allChanged()
        var effects: [DeferredEffect] = []
        running.updateAll { _, subscriber in
            if subscriber.isPaused, case .progress = event { return }
            effects += subscriber.emit(event)
        }
        return effects
    }

    /// Emits an event to every paused subscriber without an outcome.
    mutating func emitToPaused(_ event: DownloadEvent) -> [DeferredEffect] {
        guard pausedCount > 0 else { return [] }
        var effects: [DeferredEffect] = []
        running.updateAll { _, subscriber in
            if subscriber.isPaused { effects += subscriber.emit(event) }
        }
        return effects
    }

    /// Removes and returns the timers of all deadlines.
    mutating func takeDeadlineTimers() -> [any ScheduledAction] {
        var timers: [any ScheduledAction] = []
        running.updateAll { _, subscriber in
            if let timer = subscriber.takeDeadlineTimer() { timers.append(timer) }
        }
        return timers
    }

    /// Removes and returns the reserved paths of the subscribers without an outcome.
    mutating func takeReservedPaths() -> [String] {
        var paths: [String] = []
        running.updateAll { _, subscriber in
            if let path = subscriber.takeReservedPath() { paths.append(path) }
        }
        return paths
    }
}

// MARK: - Consumers and ends

extension SubscriberSet {
    /// Adds a consumer that awaits the outcome of a subscriber.
    ///
    /// - Returns: The answer; nil if the task of the consumer is canceled, even if the outcome exists. The cancellation
    ///   handler has then already been called, without finding the consumer.
    mutating func wait(
        _ waiter: WaiterID, of id: SubscriberID, resume: @escaping @Sendable (Outcome) -> Void
    ) -> WaitAnswer? {
        if Task.isCancelled { return nil }
        if let outcome = self[id]?.outcome { return .now(outcome) }
        _ = update(id) { $0.waiters.insert(resume, id: waiter) }
        return .later
    }
}
