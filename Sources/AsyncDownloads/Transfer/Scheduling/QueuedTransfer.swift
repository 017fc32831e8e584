/// A transfer with one subscriber that waits for its first permit, or is paused or has ended before it.
///
/// Most downloads of a large queue are never asked for more than that. When an input needs more, such as a second
/// subscriber, an event stream, or the permit, ``activate(_:for:_:)`` creates the state machine and the subscriber by
/// repeating what has happened.
struct QueuedTransfer: Sendable {
    /// How a transfer can end without a state machine.
    enum Ending: Sendable {
        case canceled, shutDown

        init?(_ code: DownloadError.Code) {
            switch code {
            case .cancelled: self = .canceled
            case .shutDown: self = .shutDown
            default: return nil
            }
        }
    }

    /// A consumer that awaits the outcome.
    struct Waiter: Sendable {
        let id: WaiterID
        let resume: @Sendable (Subscriber.Outcome) -> Void
    }

    /// Where the transfer stands.
    private enum Phase: Sendable, Equatable {
        /// No subscriber has attached yet.
        case unattached
        /// The request for a permit waits.
        case waiting(PermitQueue.Ticket)
        case paused
        case ended(Ending, wasPaused: Bool)
    }

    /// The number of pauses after which the state machine counts them, because its events are to be repeated.
    private static let maximumPauseCount = 20

    private var phase = Phase.unattached
    /// The first ticket, whose place in line all later ones keep.
    private var place: PermitQueue.Ticket?
    private var pauseCount: Int8 = 0
    /// Whether the subscriber's handle still exists.
    private var isHeld = true
    private var waiterNumbers = SerialNumbers<WaiterID>()
    private var waiter: Waiter?

    /// The ticket of the request for a permit, if the transfer waits.
    var ticket: PermitQueue.Ticket? {
        if case .waiting(let ticket) = phase { return ticket }
        return nil
    }

    var isAttached: Bool { phase != .unattached }

    var isPaused: Bool { phase == .paused }

    /// Whether the transfer has ended, and how.
    var ending: Ending? {
        if case .ended(let ending, _) = phase { return ending }
        return nil
    }

    /// Whether anything can observe or resume the subscriber, other than all downloads together.
    var isReachable: Bool { isHeld || waiter != nil }

    /// Whether anything awaits the outcome.
    var hasConsumers: Bool { waiter != nil }

    /// The state as the subscriber sees it.
    var publicState: DownloadState {
        switch phase {
        case .unattached: .ready
        case .waiting: .waiting
        case .paused: .paused
        case .ended(.canceled, _): .cancelled
        case .ended(.shutDown, _): .failed
        }
    }
}

// MARK: - Inputs

extension QueuedTransfer {
    /// Records the subscriber's request for a permit, or the one that follows a pause.
    ///
    /// - Parameter request: Requests a permit with this place in line.
    mutating func wait(_ request: (_ place: PermitQueue.Ticket?) -> PermitQueue.Ticket) {
        let ticket = request(place)
        if place == nil { place = ticket }
        phase = .waiting(ticket)
    }

    /// Pauses, and returns whether that was possible without the state machine.
    mutating func pause() -> Bool {
        guard pauseCount < Self.maximumPauseCount else { return false }
        pauseCount += 1
        phase = .paused
        return true
    }

    /// Ends, and returns the consumer that receives the outcome.
    mutating func end(_ ending: Ending) -> Waiter? {
        phase = .ended(ending, wasPaused: isPaused)
        return takeWaiter()
    }

    /// Records that the subscriber's handle was released.
    mutating func handleReleased() {
        isHeld = false
    }

    /// Creates the identifier of a consumer that awaits the outcome.
    mutating func newWaiter() -> WaiterID { waiterNumbers.next() }

    /// Adds a consumer that awaits the outcome, and returns whether there was none.
    mutating func add(_ new: Waiter) -> Bool {
        guard waiter == nil else { return false }
        waiter = new
        return true
    }

    /// Removes the consumer with this identifier.
    mutating func remove(_ id: WaiterID) -> Waiter? { waiter?.id == id ? takeWaiter() : nil }

    private mutating func takeWaiter() -> Waiter? {
        defer { waiter = nil }
        return waiter
    }
}

// MARK: - Activation

extension QueuedTransfer {
    /// Brings the state machine and the subscribers of a new transfer to where this value stands.
    func activate(_ state: inout Transfer.State, for request: DownloadRequest, _ environment: TransferEnvironment) {
        guard isAttached else { return }
        let now = environment.time.now
        let id = state.subscribers.add(request, environment.terms(of: request), at: now)
        state.attachedFirst(request, environment)
        repeated(state.machine.run(at: now), &state)
        for number in 1..<pauseCount + 1 {
            _ = state.subscribers.setPaused(true, id, at: now)
            repeated(state.machine.stop(.pause, at: now), &state)
            if number == pauseCount, isPausedLast { break }
            _ = state.subscribers.setPaused(false, id, at: now)
            repeated(state.machine.run(at: now), &state)
        }
        state.subscribers.continueNumbers(of: waiterNumbers)
        _ = state.subscribers.update(id) { subscriber in
            subscriber.isHeld = isHeld
            if let waiter { subscriber.waiters[waiter.id] = waiter.resume }
            if ending == nil { subscriber.reservedPath = request.destination.path }
        }
        state.permit.ticket = ticket
        state.permit.place = place
        guard let ending else { return }
        // The consumers have received the outcome.
        _ = state.subscribers.end(id, .failure(ending.error(of: request)))
        repeated(state.machine.stop(.abandon, at: now), &state)
    }

    /// Whether the last pause continues, or continued until the end.
    private var isPausedLast: Bool {
        switch phase {
        case .paused, .ended(_, wasPaused: true): true
        case .unattached, .waiting, .ended(_, wasPaused: false): false
        }
    }

    /// Emits the events of actions that were performed while the transfer was queued.
    private func repeated(_ actions: [TransferAction], _ state: inout Transfer.State) {
        for action in actions {
            switch action {
            case .emit(let event): _ = state.subscribers.emit(event)
            case .requestPermit(_, let id): state.permit.request = id
            case .releasePermit, .end: break
            default: preconditionFailure("a queued transfer needs no \(action)")
            }
        }
    }
}

extension QueuedTransfer.Ending {
    /// The error of the subscriber, which has received nothing.
    func error(of request: DownloadRequest) -> DownloadError {
        switch self {
        case .canceled: DownloadError(.cancelled, url: request.url)
        case .shutDown: DownloadError(.shutDown, url: request.url)
        }
    }
}

extension SubscriberID {
    /// The first subscriber of each transfer.
    static let first = Self(rawValue: 1)
}
