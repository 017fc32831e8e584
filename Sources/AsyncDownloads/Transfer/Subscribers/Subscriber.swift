internal import struct Foundation.Date

/// One download that is attached to a transfer: its request, its readers and observers, and its outcome.
///
/// This is a value without side effects: functions return the effects, which are performed without a lock.
struct Subscriber: Sendable {
    typealias Outcome = Result<DownloadedFile, DownloadError>

    let downloadID: DownloadID
    let request: DownloadRequest
    var policies: ResolvedPolicies
    private(set) var isPaused = false
    /// The number of existing handles.
    var handleCount = 1
    /// Whether the subscriber joined a transfer with other subscribers.
    var isCoalesced = false
    private(set) var outcome: Outcome?
    /// The progress when the outcome was set.
    private(set) var lastProgress = DownloadProgress()
    /// The events since the subscriber was attached; nil after the first stream has taken them.
    private(set) var history: EventHistory? = EventHistory()
    /// The open streams.
    private(set) var streams = SerialTable<StreamID, EventStream>()
    /// The observers' closures to call after each change; observers don't keep the download alive.
    private var observers = SerialTable<ObserverID, @Sendable () -> Void>()
    /// The closures to call with the outcome.
    var waiters = SerialTable<WaiterID, @Sendable (Outcome) -> Void>()
    /// The path that is reserved for the subscriber's file.
    var reservedPath: String?
    private(set) var deadline: DeadlineClock?
    /// The timer of the deadline.
    var deadlineTimer: (any ScheduledAction)?

    /// Creates a subscriber and starts its deadline.
    init(_ downloadID: DownloadID, request: DownloadRequest, policies: ResolvedPolicies, at now: Duration) {
        self.downloadID = downloadID
        self.request = request
        self.policies = policies
        deadline = policies.deadline.map { DeadlineClock(limit: $0) }
        deadline?.start(at: now)
    }

    /// Whether a handle exists.
    var isHeld: Bool { handleCount > 0 }

    /// Whether a stream or a consumer uses the subscriber, not counting observers.
    var hasConsumers: Bool { !waiters.isEmpty || !streams.isEmpty }

    /// Whether the subscriber is paused and unreferenced, so that only its URL or an operation on all downloads can
    /// resume it.
    var isUnreachable: Bool { isPaused && !isHeld && !hasConsumers }

    /// Whether nothing can refer to the subscriber anymore: it has its outcome, and its handles, streams, consumers,
    /// and observers are gone.
    var isForgettable: Bool { outcome != nil && !isHeld && !hasConsumers && observers.isEmpty }

    mutating func emit(_ event: DownloadEvent) -> [DeferredEffect] {
        history?.put(event)
        return streams.elements.flatMap { $0.element.put([event]) }
    }

    /// Pauses or resumes the subscriber; pauses don't count toward the deadline.
    mutating func setPaused(_ isPaused: Bool, at now: Duration) {
        self.isPaused = isPaused
        if isPaused {
            deadline?.stop(at: now)
        } else {
            deadline?.start(at: now)
        }
    }

    /// Sets the outcome, and delivers it to all streams and consumers.
    mutating func end(_ outcome: Outcome, at progress: DownloadProgress) -> [DeferredEffect] {
        (self.outcome, lastProgress) = (outcome, progress)
        var effects: [DeferredEffect] = []
        switch outcome {
        case .success(let file):
            effects += emit(.finished(file))
            effects += streams.elements.flatMap { $0.element.finish(nil) }
        case .failure(let error):
            effects += streams.elements.flatMap { $0.element.finish(error) }
        }
        streams = SerialTable()
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

// MARK: - Streams and observers

extension Subscriber {
    /// Opens a stream.
    ///
    /// The first stream receives all events since the subscriber was attached; a later stream begins with the current
    /// state.
    ///
    /// - Parameter presentation: A closure that returns the events that describe the current state.
    mutating func openStream(
        _ stream: EventStream, as id: StreamID, _ presentation: (Subscriber) -> [DownloadEvent]
    ) -> [DeferredEffect] {
        let effects = stream.put(history.take()?.contents ?? presentation(self))
        switch outcome {
        case .success: return effects + stream.finish(nil)
        case .failure(let error): return effects + stream.finish(error)
        case nil:
            streams.insert(stream, id: id)
            return effects
        }
    }

    /// Removes a stream that is no longer read, and returns whether it was open.
    mutating func closeStream(_ id: StreamID) -> Bool { streams.remove(id) != nil }

    /// Adds an observer, which is called after each change until it is removed.
    mutating func addObserver(_ observer: @escaping @Sendable () -> Void, as id: ObserverID) {
        observers.insert(observer, id: id)
    }

    /// Removes an observer.
    mutating func removeObserver(_ id: ObserverID) { observers.remove(id) }

    /// The effects that notify the observers of a change.
    var notifications: [DeferredEffect] { observers.elements.map { DeferredEffect($0.element) } }
}

/// The status of a download from the perspective of its subscriber.
struct SubscriberStatus: Sendable, Hashable {
    var state = DownloadState.failed
    var progress = DownloadProgress()
    /// The reason why the download is waiting; nil if it isn't waiting.
    var waitingReason: WaitingReason?
    /// The error that ended the download, or the error of the last attempt while the download waits for the next one.
    var error: DownloadError?
    /// The time of the next attempt, if it is known.
    var nextAttempt: Date?
    /// The finished file.
    var file: DownloadedFile?

    /// Returns the status of a subscriber that has its outcome.
    static func ended(_ outcome: Subscriber.Outcome, _ progress: DownloadProgress) -> Self {
        switch outcome {
        case .success(let file):
            var progress = progress
            (progress.receivedByteCount, progress.expectedByteCount) = (file.byteCount, file.byteCount)
            progress.timeRemaining = nil
            return Self(state: .completed, progress: progress, file: file)
        case .failure(let error):
            return Self(state: error.code == .cancelled ? .cancelled : .failed, progress: progress, error: error)
        }
    }
}

/// A failed attempt, and the time of the next one.
struct FailedAttempt: Sendable, Hashable {
    var error: DownloadError
    var nextAttempt: Date

    /// - Parameters:
    ///   - delay: The time until the next attempt.
    ///   - date: The present date.
    init(_ error: DownloadError, retriedAfter delay: Duration, at date: HTTPDate) {
        self.error = error
        nextAttempt = Date(timeIntervalSince1970: Double(date.secondsSinceEpoch)).addingTimeInterval(
            delay / .seconds(1))
    }
}
