/// A receiver of granted permits.
protocol PermitReceiver: AnyObject, Sendable {
    /// Handles the grant of a permit.
    ///
    /// This method is called once for each granted ticket, on any thread, while no lock is held. If the ticket is
    /// released or moved at the same time on another thread, the grant may arrive after that.
    func permitGranted(_ ticket: PermitQueue.Ticket)
}

/// A request to a host that was begun and not answered.
struct BegunRequest: Sendable {
    let host: String
    /// The number that ``HostLimit`` has given to it.
    let number: Int
    /// The permit under which it was begun; nil for an extra request.
    let ticket: PermitQueue.Ticket?
}

/// Grants transfers their permits to run and to send requests, within a limit in total and the limits of each host.
///
/// Requests, moves, yields, releases, and answers only change the queue, so that a transfer can report them under its
/// own lock. A call of ``deliverGrants()`` without a lock must follow each of them.
final class TransferScheduler: Sendable {
    private struct State {
        var queue: PermitQueue
        /// The receivers of the tickets that were not granted, by slot.
        var receivers = SlotArray()
        var isClosed = false
        /// The number of permits that were granted, yielded, or released while their transfers ran.
        var changeCount = 0
        /// The timer for the next grant that needs no other change than the time.
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
    ///   - limit: The maximum number of transfers that run.
    ///   - openLimit: The maximum number of transfers with open files, which includes those that verify or place their
    ///     files; nil for `limit`.
    init(limit: Int, openLimit: Int? = nil, _ settings: HostLimit.Settings, time: any TimeSource) {
        self.time = time
        state = Mutex(State(queue: PermitQueue(limit: limit, openLimit: openLimit, settings)))
    }

    /// Requests a permit, which is granted by ``deliverGrants()``.
    ///
    /// - Parameter place: The first ticket of the transfer, whose place in line a retry keeps.
    func request(
        host: String, priority: DownloadRequest.Priority, place: PermitQueue.Ticket? = nil,
        for receiver: any PermitReceiver
    ) -> PermitQueue.Ticket {
        state.withLock { state in
            let ticket = state.queue.enqueue(host: host, priority: priority, place: place)
            state.receivers[ticket.slot] = receiver
            return ticket
        }
    }

    /// Changes the priority of a waiting request.
    func setPriority(_ priority: DownloadRequest.Priority, of ticket: PermitQueue.Ticket) {
        state.withLock { $0.queue.setPriority(priority, of: ticket) }
    }

    /// Moves a permit to another host if that host permits a request now; otherwise releases the permit.
    ///
    /// If the other host permits none, the permit is released, so that other transfers can use it in the meantime.
    ///
    /// - Returns: Whether the ticket still has a permit.
    func move(_ ticket: PermitQueue.Ticket, to host: String) -> Bool {
        state.withLock { $0.queue.move(ticket, to: host, at: time.now) }
    }

    /// Begins a request of a transfer to the host of its permit.
    ///
    /// If the host permits no request now, the permit is released, and the result is nil.
    func begin(_ ticket: PermitQueue.Ticket, host: String) -> BegunRequest? {
        state.withLock { $0.queue.begin(ticket, at: time.now) }
            .map { BegunRequest(host: host, number: $0, ticket: ticket) }
    }

    /// Begins an extra request of a transfer that runs; the result is nil if the host permits no request now.
    func beginExtra(host: String) -> BegunRequest? {
        state.withLock { $0.queue.beginExtra(host: host, at: time.now) }
            .map { BegunRequest(host: host, number: $0, ticket: nil) }
    }

    /// Records the answer to a request, once, and returns whether permits may be granted because of it.
    func answered(_ request: BegunRequest, _ answer: HostLimit.Answer) -> Bool {
        state.withLock { state in
            state.queue.answered(
                request.number, host: request.host, answer, ticket: request.ticket, at: time.now)
        }
    }

    /// Lets another transfer use a permit whose transfer needs its host no more; a release must follow.
    func yield(_ ticket: PermitQueue.Ticket) {
        state.withLock { state in
            guard state.queue.stage(of: ticket) == .running else { return }
            state.changeCount += 1
            state.queue.yield(ticket)
        }
    }

    /// Releases a permit, or withdraws the request for it.
    func release(_ ticket: PermitQueue.Ticket) {
        state.withLock { state in
            switch state.queue.stage(of: ticket) {
            case .waiting: state.receivers[ticket.slot] = nil
            case .running: state.changeCount += 1
            case .finishing, nil: break
            }
            state.queue.release(ticket)
            if state.queue.isEmpty { state.receivers = SlotArray() }
        }
    }

    /// What the transfers of a host need.
    struct Load: Sendable {
        /// The number of transfers that have a permit for the host.
        var runningCount = 0
        /// Whether a transfer waits for the host, or for any permit.
        var isTransferWaiting = false
        /// A number that changes whenever a transfer of any host gets a permit, or yields or releases it.
        var changeCount = 0
    }

    /// Returns what the transfers of a host need at present.
    func load(of host: String) -> Load {
        state.withLock { state in
            Load(
                runningCount: state.queue.runningCount(host), isTransferWaiting: state.queue.isWaiting(for: host),
                changeCount: state.changeCount)
        }
    }

    /// Grants no more permits, because all transfers are ended.
    func close() {
        let timer = state.withLock { state in
            state.isClosed = true
            defer { state.timer = nil }
            return state.timer?.action
        }
        timer?.cancel()
    }

    /// Grants all permits that are available, and notifies their receivers; no lock may be held.
    func deliverGrants() {
        let now = time.now
        let (grants, obsolete, timer) = state.withLock { state -> (Grants, (any ScheduledAction)?, Timer?) in
            guard !state.isClosed else { return ([], nil, nil) }
            let grants: Grants = state.queue.grant(at: now).compactMap { ticket in
                defer { state.receivers[ticket.slot] = nil }
                return state.receivers[ticket.slot].map { ($0, ticket) }
            }
            state.changeCount += grants.count
            let before = state.timer
            let timer = nextTimer(&state)
            return (grants, state.timer?.number == before?.number ? nil : before?.action, timer)
        }
        obsolete?.cancel()
        if let timer { schedule(timer) }
        for (receiver, ticket) in grants { receiver.permitGranted(ticket) }
    }

    /// An effect that delivers the available grants; it must follow every change that was made under another lock.
    var deliveryOfGrants: DeferredEffect { DeferredEffect { [self] in deliverGrants() } }

    private typealias Grants = [(receiver: any PermitReceiver, ticket: PermitQueue.Ticket)]

    /// Returns a timer that has to be scheduled, and sets the timer to nil if none is needed.
    private func nextTimer(_ state: inout State) -> Timer? {
        guard let due = state.queue.nextTime else {
            state.timer = nil
            return nil
        }
        // A timer that is too early delivers no grants, and is followed by another one.
        if let timer = state.timer, timer.due <= due { return nil }
        state.lastTimerNumber += 1
        state.timer = Timer(number: state.lastTimerNumber, due: due)
        return state.timer
    }

    private func schedule(_ timer: Timer) {
        let action = time.schedule(after: timer.due - time.now) { [weak self] in self?.timerFired(timer.number) }
        let isObsolete = state.withLock { state in
            // The race with the timer itself, or with a change that has replaced it.
            guard state.timer?.number == timer.number else { return true }
            state.timer?.action = action
            return false
        }
        if isObsolete {
            action.cancel()
        } else if time.now >= timer.due {
            // The clock has passed the time before the action was scheduled, which is therefore late.
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

/// An array of receivers, indexed by slot.
///
/// The array doesn't shrink while the queue has requests: the slots of a few running transfers may be the last ones of
/// a large queue that has drained.
private struct SlotArray {
    private var receivers: [(any PermitReceiver)?] = []

    subscript(slot: Int32) -> (any PermitReceiver)? {
        get { receivers.indices.contains(Int(slot)) ? receivers[Int(slot)] : nil }
        set {
            while receivers.count <= slot { receivers.append(nil) }
            receivers[Int(slot)] = newValue
        }
    }
}
