/// One download that is attached to a transfer: its request, its undelivered events, and its outcome.
///
/// A value without effects: functions return the effects, which are performed when no lock is held.
struct Subscriber: Sendable {
    typealias Outcome = Result<DownloadedFile, DownloadError>

    let request: DownloadRequest
    let policies: ResolvedPolicies
    private(set) var isPaused = false
    /// The number of handles that exist.
    var handleCount = 1
    /// Whether the subscriber joined a transfer that had others.
    var isCoalesced = false
    private(set) var outcome: Outcome?
    var buffers = SerialTable<StreamID, EventBuffer>()
    /// The state that observers were last notified of.
    private var lastObservedState: DownloadState?
    /// The closures to call with the outcome.
    var waiters = SerialTable<WaiterID, @Sendable (Outcome) -> Void>()
    /// The path that is reserved for its file.
    var reservedPath: String?
    private(set) var deadline: DeadlineClock?
    /// The timer of the deadline.
    var deadlineTimer: (any ScheduledAction)?

    /// Creates a subscriber whose time starts to count.
    init(request: DownloadRequest, policies: ResolvedPolicies, firstBuffer: StreamID, at now: Duration) {
        self.request = request
        self.policies = policies
        deadline = policies.deadline.map { DeadlineClock(limit: $0) }
        buffers.insert(EventBuffer(), id: firstBuffer)
        deadline?.start(at: now)
    }

    /// Whether a handle exists.
    var isHeld: Bool { handleCount > 0 }

    /// Whether anything reads the events or awaits the outcome, not counting observers.
    var hasConsumers: Bool {
        !waiters.isEmpty || buffers.firstID { $0.isClaimed && !$0.isObserver } != nil
    }

    /// Whether the subscriber is paused, and nothing refers to it: it can be resumed only by its URL, or with all others.
    var isUnreachable: Bool { isPaused && !isHeld && !hasConsumers }

    /// Whether nothing can refer to the subscriber any more: it has its outcome, its handles were released, and
    /// nothing reads or awaits.
    var isForgettable: Bool {
        outcome != nil && !isHeld && waiters.isEmpty && buffers.firstID(where: \.isClaimed) == nil
    }

    mutating func emit(_ event: DownloadEvent) -> [DeferredEffect] {
        var effects: [DeferredEffect] = []
        buffers.updateAll { _, buffer in effects += buffer.put(event) }
        return effects
    }

    /// Notifies the observers if the state has changed, since not every change is an event.
    mutating func show(_ state: DownloadState, _ progress: DownloadProgress) -> [DeferredEffect] {
        guard state != lastObservedState else { return [] }
        lastObservedState = state
        var effects: [DeferredEffect] = []
        buffers.updateAll { _, buffer in
            if buffer.isObserver { effects += buffer.put(.progress(progress)) }
        }
        return effects
    }

    /// Pauses or resumes; the deadline doesn't count the time of a pause.
    mutating func setPaused(_ isPaused: Bool, at now: Duration) {
        self.isPaused = isPaused
        if isPaused {
            deadline?.stop(at: now)
        } else {
            deadline?.start(at: now)
        }
    }

    /// Sets the outcome, and delivers it to everything that reads or awaits.
    mutating func end(_ outcome: Outcome) -> [DeferredEffect] {
        self.outcome = outcome
        var effects: [DeferredEffect] = []
        buffers.updateAll { _, buffer in
            switch outcome {
            case .success(let file):
                effects += buffer.put(.finished(file))
                effects += buffer.finish(nil)
            case .failure(let error): effects += buffer.finish(error)
            }
        }
        for (_, waiter) in waiters.elements { effects.append(DeferredEffect { waiter(outcome) }) }
        waiters = SerialTable()
        if let timer = takeDeadlineTimer() { effects.append(DeferredEffect { timer.cancel() }) }
        return effects
    }

    mutating func takeReservedPath() -> String? {
        defer { reservedPath = nil }
        return reservedPath
    }

    mutating func takeDeadlineTimer() -> (any ScheduledAction)? {
        defer { deadlineTimer = nil }
        return deadlineTimer
    }
}

// MARK: - Streams

extension Subscriber {
    /// Opens a stream.
    ///
    /// The first stream emits everything since the subscriber was attached; a later one, and that of an observer,
    /// begins with the current state.
    ///
    /// - Parameter presentation: Returns the events that describe the current state.
    mutating func openStream(
        _ stream: StreamID, isObserver: Bool, _ presentation: (Subscriber) -> [DownloadEvent]
    ) -> [DeferredEffect] {
        if !isObserver, let first = buffers.firstID(where: { !$0.isClaimed }), var buffer = buffers.remove(first) {
            buffer.isClaimed = true
            buffers.insert(buffer, id: stream)
            return []
        }
        var buffer = EventBuffer()
        buffer.isClaimed = true
        buffer.isObserver = isObserver
        var effects: [DeferredEffect] = []
        for event in presentation(self) { effects += buffer.put(event) }
        switch outcome {
        case .success: effects += buffer.finish(nil)
        case .failure(let error): effects += buffer.finish(error)
        case nil: break
        }
        buffers.insert(buffer, id: stream)
        return effects
    }

    /// Returns the next delivery of a stream, or `nil` if `continuation` is resumed with it later.
    mutating func nextDelivery(
        of stream: StreamID, _ continuation: CheckedContinuation<EventBuffer.Delivery, Never>,
        _ effects: inout [DeferredEffect]
    ) -> EventBuffer.Delivery? {
        guard buffers.contains(stream) else { return .success(nil) }
        return buffers.update(stream) { buffer in
            if let delivery = buffer.take() { return delivery }
            effects += buffer.wait(continuation)
            return nil
        } ?? nil
    }
}
