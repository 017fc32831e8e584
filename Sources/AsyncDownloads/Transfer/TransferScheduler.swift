/// Gives transfers their permits to run: at most so many at once, and so many to one host.
final class TransferScheduler: Sendable {
    private struct State {
        var queue: PermitQueue
        var grants: [PermitQueue.Ticket: @Sendable () -> Void] = [:]
    }

    private let state: Mutex<State>

    init(limit: Int, limitPerHost: Int) {
        state = Mutex(State(queue: PermitQueue(limit: limit, limitPerHost: limitPerHost)))
    }

    /// Asks for a permit.
    ///
    /// `granted` is called once, from any thread and perhaps before this returns, unless the ticket is released before.
    func request(
        host: String, priority: DownloadRequest.Priority, ticket: (PermitQueue.Ticket) -> Void,
        granted: @escaping @Sendable () -> Void
    ) {
        let (number, due) = state.withLock { state in
            let number = state.queue.enqueue(host: host, priority: priority)
            state.grants[number] = granted
            return (number, Self.due(&state))
        }
        ticket(number)
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

    private static func due(_ state: inout State) -> [@Sendable () -> Void] {
        state.queue.grant().compactMap { state.grants.removeValue(forKey: $0) }
    }
}
