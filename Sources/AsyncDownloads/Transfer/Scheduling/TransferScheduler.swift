/// A receiver of granted permits.
protocol PermitReceiver: AnyObject, Sendable {
    /// Handles the grant of a permit.
    ///
    /// This method is called once for each granted ticket, on any thread, while no lock is held. If the ticket is
    /// released or moved at the same time on another thread, the grant may arrive after that.
    func permitGranted(_ ticket: PermitQueue.Ticket)
}

/// Grants transfers their permits to run, within a limit in total and a limit for each host.
///
/// Requests, moves, and releases only change the queue, so that a transfer can make them under its own lock. A call of
/// ``deliverGrants()`` without a lock must follow each of them.
final class TransferScheduler: Sendable {
    private struct State {
        var queue: PermitQueue
        /// The receivers of the tickets that were not granted, by slot.
        var receivers = SlotArray()
        var isClosed = false
    }

    private let state: Mutex<State>

    init(limit: Int, limitPerHost: Int) {
        state = Mutex(State(queue: PermitQueue(limit: limit, limitPerHost: limitPerHost)))
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

    /// Moves a permit to another host if that host is below its limit; otherwise releases the permit.
    ///
    /// If the other host is at its limit, the permit is released, so that other transfers can use it in the meantime.
    ///
    /// - Returns: Whether the ticket still has a permit.
    func move(_ ticket: PermitQueue.Ticket, to host: String) -> Bool {
        state.withLock { $0.queue.move(ticket, to: host) }
    }

    /// Releases a permit, or withdraws the request for it.
    func release(_ ticket: PermitQueue.Ticket) {
        state.withLock { state in
            if state.queue.stage(of: ticket) == .waiting { state.receivers[ticket.slot] = nil }
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
    }

    /// Returns what the transfers of a host need at present.
    func load(of host: String) -> Load {
        state.withLock { state in
            Load(runningCount: state.queue.runningCount(host), isTransferWaiting: state.queue.isWaiting(for: host))
        }
    }

    /// Grants no more permits, because all transfers are ended.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Grants all permits that are available, and notifies their receivers; no lock may be held.
    func deliverGrants() {
        let grants: [(receiver: any PermitReceiver, ticket: PermitQueue.Ticket)] = state.withLock { state in
            guard !state.isClosed else { return [] }
            return state.queue.grant().compactMap { ticket in
                defer { state.receivers[ticket.slot] = nil }
                return state.receivers[ticket.slot].map { ($0, ticket) }
            }
        }
        for (receiver, ticket) in grants { receiver.permitGranted(ticket) }
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
