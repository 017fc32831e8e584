/// Gives transfers their permits to run: at most so many at once, and so many at one host.
///
/// A transfer calls it from any thread; what is granted is called outside of the lock. A grant that is under way on another
/// thread may still arrive while the ticket is released or moved, so the caller compares which one it waits for.
final class TransferScheduler: Sendable {
    private typealias Grant = @Sendable () -> Void

    private struct State {
        var queue: PermitQueue
        /// What to call when a ticket is granted.
        var grants: [PermitQueue.Ticket: Grant] = [:]
        /// Tickets that their requesters do not know yet; their grants have to wait.
        var unreported: Set<PermitQueue.Ticket> = []
    }

    private let state: Mutex<State>

    init(limit: Int, limitPerHost: Int) {
        state = Mutex(State(queue: PermitQueue(limit: limit, limitPerHost: limitPerHost)))
    }

    /// Asks for a permit.
    ///
    /// `granted` is called once, after `ticket` returned, from any thread and perhaps before this returns, unless the
    /// ticket is released before. A retry keeps its place in line when `place` is the first ticket of its transfer.
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
            // Another thread's release may have granted it meanwhile, or the ticket was released and has no grant any more.
            let grantedMeanwhile =
                state.queue.stage(of: number) == .running ? state.grants.removeValue(forKey: number) : nil
            return [grantedMeanwhile].compactMap(\.self) + Self.due(&state)
        }
        for grant in due { grant() }
    }

    /// Changes the priority of a request that waits.
    func setPriority(_ priority: DownloadRequest.Priority, of ticket: PermitQueue.Ticket) {
        state.withLock { $0.queue.setPriority(priority, of: ticket) }
    }

    /// Lets the holder of a permit go on at another host where that has room; otherwise the permit is given back.
    ///
    /// It is not kept while the other host is full: the permits of transfers that wait there would be missing elsewhere.
    ///
    /// - Returns: Whether the ticket still holds a permit.
    func move(_ ticket: PermitQueue.Ticket, to host: String) -> Bool {
        let (isMoved, due) = state.withLock { state in
            let isMoved = state.queue.move(ticket, to: host)
            return (isMoved, Self.due(&state))
        }
        for grant in due { grant() }
        return isMoved
    }

    /// Gives a permit back, or withdraws the request for it.
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
