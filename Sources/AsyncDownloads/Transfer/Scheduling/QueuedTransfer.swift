/// A transfer with one subscriber that waits for its first permit, or that was paused or ended before it had one.
///
/// Most downloads in a large queue need only this value. Other inputs, such as a second subscriber, an event stream, or
/// the permit, create the active transfer; ``replay(in:for:_:_:)`` then repeats the recorded history in its state.
struct QueuedTransfer: Sendable {
    /// An ending of a transfer that doesn't need the state machine.
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

    /// The phase of the transfer in the queue.
    private enum Phase: Sendable, Equatable {
        /// No subscriber has attached yet.
        case unattached
        /// The transfer is waiting for a permit.
        case waiting(PermitQueue.Ticket)
        case paused
        case ended(Ending, wasPaused: Bool)
    }

    /// The maximum number of pauses that are counted without a state machine; the next pause creates it.
    ///
    /// The limit bounds the events that the activation replays.
    private static let maximumPauseCount = 20

    private var phase = Phase.unattached
    /// The first ticket, whose place in line all later ones keep.
    private var place: PermitQueue.Ticket?
    private var pauseCount: Int8 = 0
    /// The number of the subscriber's existing handles.
    private var handleCount: UInt32 = 1
    private var waiterNumbers = SerialNumbers<WaiterID>()
    private var waiter: Waiter?

    /// The ticket of the request for a permit, if the transfer is waiting.
    var ticket: PermitQueue.Ticket? {
        if case .waiting(let ticket) = phase { return ticket }
        return nil
    }

    var isAttached: Bool { phase != .unattached }

    var isPaused: Bool { phase == .paused }

    /// The ending of the transfer; nil if it has not ended.
    var ending: Ending? {
        if case .ended(let ending, _) = phase { return ending }
        return nil
    }

    /// Whether a handle exists or a consumer awaits the outcome.
    ///
    /// Otherwise, the subscriber can be resumed only by its URL, or together with all others.
    var isReachable: Bool { handleCount > 0 || waiter != nil }

    /// Whether a consumer awaits the outcome.
    var hasConsumers: Bool { waiter != nil }

    /// Returns the status of the subscriber.
    func status(of request: DownloadRequest, _ environment: TransferEnvironment) -> SubscriberStatus {
        switch phase {
        case .unattached:
            return SubscriberStatus(state: .ready)
        case .waiting(let ticket):
            let reason = environment.waitingReason(of: ticket) ?? .turn
            return SubscriberStatus(state: .waiting, waitingReason: reason, nextAttempt: reason.end)
        case .paused:
            return SubscriberStatus(state: .paused)
        case .ended(let ending, _):
            return .ended(.failure(ending.error(of: request)), DownloadProgress())
        }
    }
}

// MARK: - Inputs

extension QueuedTransfer {
    /// Requests a permit, initially or after a pause, and records its ticket.
    ///
    /// - Parameter request: A closure that requests a permit with a place in line.
    mutating func wait(_ request: (_ place: PermitQueue.Ticket?) -> PermitQueue.Ticket) {
        let ticket = request(place)
        if place == nil { place = ticket }
        phase = .waiting(ticket)
    }

    /// Pauses the transfer, and returns whether this was possible without the state machine.
    mutating func pause() -> Bool {
        guard pauseCount < Self.maximumPauseCount else { return false }
        pauseCount += 1
        phase = .paused
        return true
    }

    /// Ends the transfer, and returns the consumer that receives the outcome.
    mutating func end(_ ending: Ending) -> Waiter? {
        phase = .ended(ending, wasPaused: isPaused)
        return takeWaiter()
    }

    /// Records that a handle was created.
    mutating func addHandle() {
        handleCount += 1
    }

    /// Records that a handle was released.
    mutating func releaseHandle() {
        handleCount -= 1
    }

    /// Creates the identifier of a consumer that awaits the outcome.
    mutating func newWaiter() -> WaiterID { waiterNumbers.next() }

    /// Adds a consumer that awaits the outcome; returns false without adding it if another consumer exists.
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
    /// Replays the recorded history in a new state machine and subscriber set.
    func replay(
        in state: inout ActiveTransfer.State, for downloadID: DownloadID, _ request: DownloadRequest,
        _ environment: TransferEnvironment
    ) {
        guard isAttached else { return }
        let now = environment.time.now
        let id = state.subscribers.add(downloadID, request, environment.policies(of: request), at: now)
        state.attachedFirst(request, environment)
        var permitID = repeated(state.machine.run(at: now), &state)
        for number in 1..<pauseCount + 1 {
            _ = state.subscribers.setPaused(true, id, at: now)
            _ = repeated(state.machine.stop(.pause, at: now), &state)
            if number == pauseCount, isPausedLast { break }
            _ = state.subscribers.setPaused(false, id, at: now)
            permitID = repeated(state.machine.run(at: now), &state)
        }
        state.subscribers.continueNumbers(of: waiterNumbers)
        _ = state.subscribers.update(id) { subscriber in
            subscriber.handleCount = Int(handleCount)
            if let waiter { subscriber.waiters.insert(waiter.resume, id: waiter.id) }
            if ending == nil { subscriber.reservedPath = request.destination.path }
        }
        state.permit = TransferPermit(place: place)
        if let ticket {
            guard let permitID else { preconditionFailure("a queued transfer waits without a request for a permit") }
            state.permit.requested(
                ticket, as: permitID, priority: request.priority,
                retryLimit: state.machine.policies.retryPolicy.maximumRetries)
            if let reason = environment.waitingReason(of: ticket) {
                _ = state.subscribers.emit(.waiting(reason: reason))
            }
        }
        guard let ending else { return }
        // The consumers have already received the outcome.
        _ = state.subscribers.end(id, .failure(ending.error(of: request)))
        _ = repeated(state.machine.stop(.abandon, at: now), &state)
    }

    /// Whether the transfer is paused, or was paused when it ended.
    private var isPausedLast: Bool {
        switch phase {
        case .paused, .ended(_, wasPaused: true): true
        case .unattached, .waiting, .ended(_, wasPaused: false): false
        }
    }

    /// Emits the events of actions that were already performed while the transfer was queued.
    ///
    /// - Returns: The identifier of the request for a permit, if the actions contain one.
    private func repeated(
        _ actions: [TransferAction], _ state: inout ActiveTransfer.State
    ) -> PermitRequestID? {
        var permitID: PermitRequestID?
        for action in actions {
            switch action {
            case .emit(let event): _ = state.subscribers.emit(event)
            case .requestPermit(_, let id): permitID = id
            case .releasePermit, .end: break
            default: preconditionFailure("a queued transfer needs no \(action)")
            }
        }
        return permitID
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
