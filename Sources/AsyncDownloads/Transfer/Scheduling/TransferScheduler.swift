internal import struct Foundation.URL

/// A scheduler that grants transfers permits to run and to send requests, within a total limit and the limits of each
/// host.
///
/// Requests, begins, moves, yields, releases, and answers only change the queue, so that a transfer can report them under
/// its own lock. A call of ``deliverGrants()`` without a lock must follow each of them, unless the result says otherwise.
final class TransferScheduler: Sendable {
    private struct State {
        var queue: PermitQueue
        /// The receivers of the tickets that have not been granted, by slot.
        var receivers = PermitReceivers()
        /// The notices that have not been delivered to the receivers and the observers.
        var notices = Notices()
        var observers = RoomObservers()
        var isClosed = false
        /// The number of permits that were granted, yielded, or released while their transfers ran.
        var changeCount = 0
        /// The timer for the next grant that depends only on the time.
        var timer: Timer?
        var lastTimerNumber = 0
    }

    private struct Timer {
        let number: Int
        let due: Duration
        /// nil while the timer is being scheduled.
        var action: (any ScheduledAction)?
    }

    private let time: any TimeSource
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: The maximum number of running transfers.
    ///   - openLimit: The maximum number of transfers with open files, including transfers that verify or place their
    ///     files; nil for `limit`.
    ///   - silentLimit: The maximum number of transfers that don't count toward `openLimit`, because their origins are
    ///     silent.
    ///   - seed: The seed of the random delays between attempts to connect.
    init(
        limit: Int, openLimit: Int? = nil, silentLimit: Int = 0, _ settings: HostLimit.Settings, time: any TimeSource,
        seed: UInt64 = .random(in: .min ... .max)
    ) {
        self.time = time
        let queue = PermitQueue(limit: limit, openLimit: openLimit, silentLimit: silentLimit, settings, seed: seed)
        state = Mutex(State(queue: queue))
    }

    /// Requests a permit, which is granted by ``deliverGrants()``.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - place: The first ticket of the transfer, whose place in line a retry keeps.
    ///   - retryLimit: The number of retries that the policy of the transfer permits.
    func request(
        _ pair: OriginPair, _ url: URL? = nil, priority: DownloadRequest.Priority,
        place: PermitQueue.Ticket? = nil, retryLimit: Int = 5, for receiver: any PermitReceiver
    ) -> PermitQueue.Ticket {
        state.withLock { state in
            let ticket = state.queue.enqueue(
                for: pair, url.map(ResourceID.init), priority: priority, place: place, retryLimit: retryLimit,
                at: time.now)
            state.receivers[ticket.slot] = receiver
            return ticket
        }
    }

    /// Changes the priority of a waiting request, and, unless it is nil, the number of retries of its transfer.
    func setPriority(_ priority: DownloadRequest.Priority, retryLimit: Int? = nil, of ticket: PermitQueue.Ticket) {
        state.withLock { $0.queue.setPriority(priority, retryLimit: retryLimit, of: ticket) }
    }

    /// Returns the reason why the origin of a waiting request currently accepts no requests; nil if it accepts them.
    func hindrance(of ticket: PermitQueue.Ticket) -> OriginState.Hindrance? {
        state.withLock { $0.queue.hindrance(of: ticket, at: time.now) }
    }

    /// Moves a permit to another origin if a request may be sent to it now; otherwise releases the permit, so that
    /// other transfers can use it in the meantime.
    ///
    /// - Returns: Whether the ticket still has a permit.
    func move(_ ticket: PermitQueue.Ticket, to pair: OriginPair) -> Bool {
        state.withLock { $0.queue.move(ticket, to: pair, at: time.now) }
    }

    /// Begins a request of a transfer to the origin of its permit.
    ///
    /// If no request may be sent now, the permit is released, and the result is nil.
    ///
    /// - Returns: The request, and whether ``deliverGrants()`` has to be called, because the time of the next grant is
    ///   earlier than before.
    func begin(_ ticket: PermitQueue.Ticket, _ url: URL? = nil) -> (request: PermitQueue.Begun?, isNextEarlier: Bool) {
        state.withLock { state in
            let begun = state.queue.begin(ticket, url.map(ResourceID.init), at: time.now)
            guard begun != nil, let next = state.queue.nextTime else { return (begun, begun == nil) }
            return (begun, state.timer.map { next < $0.due } ?? true)
        }
    }

    /// Begins an extra request of a running transfer; the result is nil if none may be sent now.
    func beginExtra(_ pair: OriginPair) -> PermitQueue.Begun? {
        state.withLock { $0.queue.beginExtra(for: pair, at: time.now) }
    }

    /// Records the answer to a request; called once for each request.
    ///
    /// - Parameter status: The status of the response, if the answer is one.
    func answered(
        _ request: PermitQueue.Begun, _ answer: RequestAnswer, status: StatusCode? = nil
    ) -> PermitQueue.Consequence {
        state.withLock { state in
            let consequence = state.queue.answered(request, answer, at: time.now)
            for ticket in consequence.failed {
                guard let receiver = state.receivers[ticket.slot] else { continue }
                state.receivers[ticket.slot] = nil
                state.notices.refusals.append((receiver, ticket, answer.errorOfWaiting(status: status)))
            }
            for ticket in consequence.hindered {
                if let receiver = state.receivers[ticket.slot] { state.notices.hindered.append((receiver, ticket)) }
            }
            return consequence
        }
    }

    /// Makes a permit available to another transfer, because its transfer no longer needs the host; a release must
    /// follow.
    func yield(_ ticket: PermitQueue.Ticket) {
        state.withLock { state in
            guard state.queue.stage(of: ticket) == .running else { return }
            state.changeCount += 1
            state.queue.yield(ticket)
        }
    }

    /// Releases a permit of a transfer that may wait for a retry, or withdraws the request for it.
    func release(_ ticket: PermitQueue.Ticket, isRetried: Bool = false) {
        state.withLock { state in
            switch state.queue.stage(of: ticket) {
            case .waiting: state.receivers[ticket.slot] = nil
            case .running: state.changeCount += 1
            case .finishing, nil: break
            }
            state.queue.release(ticket, isRetried: isRetried)
            if state.queue.isEmpty { state.receivers = PermitReceivers() }
        }
    }

    /// The demand for connections with a host.
    struct Load: Sendable {
        /// The number of transfers that have a permit for the host.
        var runningCount = 0
        /// Whether a transfer is waiting for the host, or for any permit.
        var isTransferWaiting = false
        /// A number that changes whenever a transfer of any host gets a permit, or yields or releases it.
        var changeCount = 0
        /// The observations about several connections of one file from the origin of the bodies.
        var connections = OriginConnections()
    }

    /// Returns the current demand for a host, and the observations about an origin.
    func load(of host: String, _ origin: Origin) -> Load {
        state.withLock { state in
            Load(
                runningCount: state.queue.runningCount(host), isTransferWaiting: state.queue.isWaiting(for: host),
                changeCount: state.changeCount, connections: state.queue.table.connections(of: origin))
        }
    }

    /// Changes the observations about several connections of one file from an origin.
    func updateConnections(of origin: Origin, _ body: (inout OriginConnections) -> Void) {
        state.withLock { $0.queue.table.updateConnections(of: origin, at: time.now, body) }
    }

    /// The transfers that are waiting because of the states of their origins, or for a response of a silent one.
    var heldUp: PermitQueue.HeldUp { state.withLock { $0.queue.heldUp } }

    /// Returns whether a request is waiting because of the state of its origin.
    ///
    /// - Parameter countsRunning: Whether a request that a silent origin hasn't answered counts as waiting.
    func isHeldUp(_ ticket: PermitQueue.Ticket, countsRunning: Bool) -> Bool {
        state.withLock { $0.queue.isHeldUp(ticket, countsRunning: countsRunning) }
    }

    /// Whether a permit is free that no waiting transfer can use now.
    var hasFreePermit: Bool { state.withLock { $0.queue.hasRoom } }

    /// The number of transfers that are waiting for a permit, or for a response of a silent origin.
    var waitingCount: Int { state.withLock { $0.queue.waitingCount + $0.queue.silentCount } }

    /// Calls `body`, on any thread, after each change of ``heldUp``, until ``removeObserver(_:)`` is called.
    func observeHeldUp(_ body: @escaping @Sendable () -> Void) -> Int {
        state.withLock { $0.observers.add(.heldUp, body) }
    }

    /// Calls `body`, on any thread, after each change while ``hasFreePermit`` is true, until ``removeObserver(_:)`` is called.
    func observeFreePermits(_ body: @escaping @Sendable () -> Void) -> Int {
        state.withLock { $0.observers.add(.freePermits, body) }
    }

    /// Removes an observer; a call that is already in progress may still happen.
    func removeObserver(_ number: Int) {
        state.withLock { $0.observers.remove(number) }
    }

    /// Stops granting permits, because all transfers are ended.
    func close() {
        let timer = state.withLock { state in
            state.isClosed = true
            defer { state.timer = nil }
            return state.timer?.action
        }
        timer?.cancel()
    }

    /// Grants all available permits, and notifies their receivers; no lock may be held.
    func deliverGrants() {
        let now = time.now
        let (grants, obsolete, timer, notices) = state.withLock {
            state -> (Grants, (any ScheduledAction)?, Timer?, Notices) in
            guard !state.isClosed else { return ([], nil, nil, Notices()) }
            let grants: Grants = state.queue.grant(at: now).compactMap { ticket in
                defer { state.receivers[ticket.slot] = nil }
                return state.receivers[ticket.slot].map { ($0, ticket) }
            }
            state.changeCount += grants.count
            for ticket in state.queue.hindered {
                if let receiver = state.receivers[ticket.slot] { state.notices.hindered.append((receiver, ticket)) }
            }
            state.queue.hindered = []
            let before = state.timer
            let timer = nextTimer(&state)
            let obsolete = state.timer?.number == before?.number ? nil : before?.action
            return (grants, obsolete, timer, takeNotices(&state))
        }
        obsolete?.cancel()
        if let timer { schedule(timer) }
        for refusal in notices.refusals { refusal.receiver.permitRefused(refusal.ticket, refusal.error) }
        for (receiver, ticket) in grants { receiver.permitGranted(ticket) }
        for (receiver, ticket) in notices.hindered { receiver.originHindered(ticket) }
        for observer in notices.observers { observer() }
    }

    /// An effect that delivers the available grants; it must follow every change that is made under another lock.
    var deliveryOfGrants: DeferredEffect { DeferredEffect { [self] in deliverGrants() } }

    /// Notifications, apart from grants, that are delivered without a lock.
    private struct Notices {
        var refusals: [(receiver: any PermitReceiver, ticket: PermitQueue.Ticket, error: DownloadError)] = []
        var hindered: Grants = []
        var observers: [@Sendable () -> Void] = []
    }

    private func takeNotices(_ state: inout State) -> Notices {
        defer { state.notices = Notices() }
        var notices = state.notices
        notices.observers = state.observers.due(after: state.queue)
        return notices
    }

    private typealias Grants = [(receiver: any PermitReceiver, ticket: PermitQueue.Ticket)]

    /// Returns a timer that has to be scheduled, and sets the timer to nil if none is needed.
    private func nextTimer(_ state: inout State) -> Timer? {
        guard let due = state.queue.nextTime else {
            state.timer = nil
            return nil
        }
        // A timer that fires too early delivers no grants, and another timer follows it.
        if let timer = state.timer, timer.due <= due { return nil }
        state.lastTimerNumber += 1
        state.timer = Timer(number: state.lastTimerNumber, due: due)
        return state.timer
    }

    private func schedule(_ timer: Timer) {
        let action = time.schedule(after: timer.due - time.now) { [weak self] in self?.timerFired(timer.number) }
        let isObsolete = state.withLock { state in
            // The timer may have fired already, or another change may have replaced it.
            guard state.timer?.number == timer.number else { return true }
            state.timer?.action = action
            return false
        }
        if isObsolete {
            action.cancel()
        } else if time.now >= timer.due {
            // The time had already passed when the action was scheduled, so the action would be late.
            timerFired(timer.number)
        }
    }

    private func timerFired(_ number: Int) {
        let isDue = state.withLock { state in
            guard state.timer?.number == number else { return false }
            state.timer = nil
            return true
        }
        if isDue { deliverGrants() }
    }
}
