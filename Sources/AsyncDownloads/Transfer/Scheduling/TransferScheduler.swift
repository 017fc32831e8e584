/// Grants transfers their permits to run, within a limit in total and a limit for each host.
///
/// Its methods may be called on any thread, and grants are called outside the lock. A grant in progress on another
/// thread may still arrive while the ticket is released or moved, so the caller checks whether it still waits for this
/// grant.
final class TransferScheduler: Sendable {
    private typealias Grant = @Sendable () -> Void

    private struct State {
        var queue: PermitQueue
        /// The closures to call when tickets are granted.
        var grants: [PermitQueue.Ticket: Grant] = [:]
        /// The tickets that their requesters do not know yet, and whose grants are therefore delayed.
        var unreported: Set<PermitQueue.Ticket> = []
    }

    private let state: Mutex<State>

    init(limit: Int, limitPerHost: Int) {
        state = Mutex(State(queue: PermitQueue(limit: limit, limitPerHost: limitPerHost)))
    }

    /// Requests a permit.
    ///
    /// `granted` is called once, after `ticket` has returned, on any thread and possibly before this method returns,
    /// unless the ticket is released first. A retry keeps its place in line if `place` is the first ticket of its
    /// transfer.
    func request(
        host: String, priority: DownloadRequest.Priority, place: PermitQueue.Ticket? = nil,
        ticket: (PermitQueue.Ticket) -> Void, granted: @escaping @Sendable () -> Void
    ) {
        let number = state.withLock { state in
            let number = state.queue.enqueue(host: host, priority: priority, place: place)
            state.grants[number] = granted
            state.unreported.insert(number)
            return number
        }
        ticket(number)
        let due = state.withLock { state in
            state.unreported.remove(number)
            // Another thread's release may have granted it in the meantime, or the ticket was released and has no grant
            // any more.
            let grantedMeanwhile =
                state.queue.stage(of: number) == .running ? state.grants.removeValue(forKey: number) : nil
            return [grantedMeanwhile].compactMap(\.self) + Self.due(&state)
        }
        for grant in due { grant() }
    }

    /// Changes the priority of a waiting request.
    func setPriority(_ priority: DownloadRequest.Priority, of ticket: PermitQueue.Ticket) {
        state.withLock { $0.queue.setPriority(priority, of: ticket) }
    }

    /// Moves a permit to another host if that host is below its limit; otherwise releases the permit.
    ///
    /// The permit is not kept while the other host is at its limit, because permits of transfers that wait there would
    /// be missing elsewhere.
    ///
    /// - Returns: Whether the ticket still has a permit.
    func move(_ ticket: PermitQueue.Ticket, to host: String) -> Bool {
        let (isMoved, due) = state.withLock { state in
            let isMoved = state.queue.move(ticket, to: host)
            return (isMoved, Self.due(&state))
        }
        for grant in due { grant() }
        return isMoved
    }

    /// Releases a permit, or withdraws the request for it.
    func release(_ ticket: PermitQueue.Ticket) {
        let due = state.withLock { state in
            state.queue.release(ticket)
            state.grants[ticket] = nil
            return Self.due(&state)
        }
        for grant in due { grant() }
    }

    private static func due(_ state: inout State) -> [Grant] {
        state.queue.grant().compactMap { ticket in
            state.unreported.contains(ticket) ? nil : state.grants.removeValue(forKey: ticket)
        }
    }
}
