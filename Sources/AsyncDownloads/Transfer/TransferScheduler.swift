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

    /// Asks for room at another host, for a transfer that keeps its permit.
    ///
    /// `granted` takes the place of an earlier one that was not called yet. It is called once, from any thread and perhaps
    /// before this returns, unless the ticket is released before. For the host at which the transfer runs already it is
    /// called at once.
    func move(_ ticket: PermitQueue.Ticket, to host: String, granted: @escaping @Sendable () -> Void) {
        let due = state.withLock { state in
            state.queue.move(ticket, to: host)
            switch state.queue.stage(of: ticket) {
            case nil: return [Grant]()
            case .running: return [granted]
            case .waiting, .moving:
                state.grants[ticket] = granted
                return Self.due(&state)
            }
        }
        for grant in due { grant() }
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
