/// The downloads of one batch that are running or whose outcomes have not been consumed.
///
/// Running downloads are canceled when the window is released, or when the task that waits in ``next()`` is canceled.
final class BatchWindow: Sendable {
    /// An event with which a batch can continue.
    enum Event: Sendable {
        case outcome(BatchOutcome)
        /// A request from an asynchronous source, nil at the end of the source, or the error that it threw.
        case request(Result<DownloadRequest?, any Error>)
        /// More downloads may start, because others are waiting because of their hosts or for a retry.
        case room
        /// The waiting task was canceled.
        case cancelled
        /// No download is running, no request is being taken, and no event is left.
        case idle
    }

    private struct State {
        var running: [Int: Download] = [:]
        /// The ended downloads of a background session whose outcomes have not been delivered.
        var unacknowledged: [Int: Download] = [:]
        /// The outcomes and requests in the order of their arrival; see ``deliveredCount``.
        private var events: [Event] = []
        /// The number of delivered events at the start of ``events``.
        private var deliveredCount = 0
        /// The number of undelivered outcomes in ``events``.
        private(set) var outcomeCount = 0
        /// Whether ``events`` contains an undelivered request.
        private(set) var hasRequest = false
        var startedCount = 0
        /// The task that takes the next request.
        var taking: Task<Void, Never>?
        var waiter: CheckedContinuation<Event, Never>?
        var isCanceled = false
        /// Whether downloads have begun to wait for their hosts since the consumer last checked
        /// ``BatchWindow/hasRoom``.
        var hasMoreRoom = false
        /// The number of the scheduler's observer, which reports such downloads.
        var observer: Int?
        var heldUp: HeldUpDownloads

        init(_ heldUp: HeldUpDownloads) {
            self.heldUp = heldUp
        }

        mutating func add(_ event: Event) {
            events.append(event)
            count(event, by: 1)
        }

        mutating func takeEvent() -> Event? {
            guard deliveredCount < events.count else { return nil }
            let event = events[deliveredCount]
            deliveredCount += 1
            count(event, by: -1)
            // Delivered events are removed in bulk, so that the cost of each event is constant on average.
            if deliveredCount * 2 >= events.count {
                events.removeFirst(deliveredCount)
                deliveredCount = 0
            }
            return event
        }

        private mutating func count(_ event: Event, by difference: Int) {
            switch event {
            case .outcome: outcomeCount += difference
            case .request: hasRequest = difference > 0
            case .room, .cancelled, .idle: break
            }
        }
    }

    private let downloader: Downloader
    private let state: Mutex<State>
    private var scheduler: TransferScheduler { downloader.environment.scheduler }

    /// Creates a window without downloads.
    init(_ downloader: Downloader, limit: Int) {
        self.downloader = downloader
        state = Mutex(State(HeldUpDownloads(limit: limit, in: downloader)))
        let observer = scheduler.observeHeldUp { [weak self] in self?.othersWait() }
        state.withLock { $0.observer = observer }
    }

    deinit {
        if let observer = state.withLock({ $0.observer }) { scheduler.removeObserver(observer) }
        cancel()
    }

    /// Whether another download may start.
    var hasRoom: Bool {
        // The next call of this property notices later changes.
        state.withLock { $0.hasMoreRoom = false }
        let heldUp = scheduler.heldUp
        return state.withLock { state in
            state.heldUp.leaveRoom(
                among: state.running.values, outcomeCount: state.outcomeCount, heldUp)
        }
    }

    /// Makes the consumer check for room again.
    private func othersWait() {
        let waiter = state.withLock { state in
            state.hasMoreRoom = state.waiter == nil
            return state.waiter.take()
        }
        waiter?.resume(returning: .room)
    }

    /// Starts a download, or cancels it immediately if the batch was canceled.
    func start(_ request: DownloadRequest) {
        let download = downloader.start(request)
        let index: Int? = state.withLock { state in
            guard !state.isCanceled else { return nil }
            defer { state.startedCount += 1 }
            state.running[state.startedCount] = download
            return state.startedCount
        }
        guard let index else { return download.cancel() }
        download.whenEnded { [weak self] result in
            self?.ended(BatchOutcome(index: index, request: request, result: result))
        }
    }

    /// Takes one request from `source`, unless a request is already being taken or is waiting to be handled.
    ///
    /// The task is necessary because ``next()`` may return an outcome before the request arrives. The task only takes
    /// the request; the consumer of the event starts its download.
    func take<Iterator: SendableMetatype>(from source: RequestSource<Iterator>) {
        state.withLock { state in
            guard state.taking == nil, !state.hasRequest, !state.isCanceled else { return }
            state.taking = Task { [weak self] in
                let request = await source.next()
                self?.put(.request(request))
            }
        }
    }

    /// Returns the next event, after waiting for it while one may still arrive.
    func next() async -> Event {
        let event = await nextUnacknowledged()
        if case .outcome(let outcome) = event {
            state.withLock { $0.unacknowledged.removeValue(forKey: outcome.index) }?.acknowledge()
        }
        return event
    }

    private func nextUnacknowledged() async -> Event {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let event: Event? = state.withLock { state in
                    if Task.isCancelled || state.isCanceled { return .cancelled }
                    if let event = state.takeEvent() { return event }
                    if state.hasMoreRoom {
                        state.hasMoreRoom = false
                        return .room
                    }
                    if state.running.isEmpty, state.taking == nil { return .idle }
                    state.waiter = continuation
                    return nil
                }
                if let event { continuation.resume(returning: event) }
            }
        } onCancel: {
            cancel()
        }
    }

    private func ended(_ outcome: BatchOutcome) {
        put(.outcome(outcome))
    }

    private func put(_ event: Event) {
        let (download, waiter, next) = state.withLock {
            state -> (Download?, CheckedContinuation<Event, Never>?, Event) in
            // The handle is released outside the lock, because its release is an input to its transfer.
            var download: Download?
            switch event {
            case .outcome(let outcome):
                download = state.running.removeValue(forKey: outcome.index)
                if let download, download.remembersOutcome { state.unacknowledged[outcome.index] = download }
            case .request: state.taking = nil
            case .room, .cancelled, .idle: break
            }
            guard !state.isCanceled else { return (download, nil, .cancelled) }
            // A consumer waits only after all events were delivered.
            guard let waiter = state.waiter else {
                state.add(event)
                return (download, nil, .idle)
            }
            state.waiter = nil
            return (download, waiter, event)
        }
        waiter?.resume(returning: next)
        withExtendedLifetime(download) {}
    }

    /// Cancels the running downloads, and stops taking requests.
    private func cancel() {
        let (downloads, taking, waiter) = state.withLock { state in
            defer {
                state.isCanceled = true
                (state.running, state.taking, state.waiter) = ([:], nil, nil)
            }
            return (state.running.values, state.taking, state.waiter)
        }
        taking?.cancel()
        for download in downloads { download.cancel() }
        waiter?.resume(returning: .cancelled)
    }
}

/// An asynchronous iterator of requests that several tasks use in turn.
final class RequestSource<Iterator: AsyncIteratorProtocol>: @unchecked Sendable  // One task at a time uses `iterator`.
where Iterator.Element == DownloadRequest {
    private var iterator: Iterator

    init(_ iterator: Iterator) {
        self.iterator = iterator
    }

    /// Returns the next request, nil at the end of the source, or the error that the source threw.
    func next() async -> Result<DownloadRequest?, any Error> {
        do {
            return .success(try await iterator.next())
        } catch {
            return .failure(error)
        }
    }
}
