/// Who may run now, and who goes next (rule 58): a value without effects.
///
/// Waiting transfers go by priority, and by age within one; each time someone is passed over, his urgency grows a
/// little, so that a stream of urgent requests starves nobody. A host at its limit holds back only its own.
struct PermitQueue: Sendable {
    /// Names one request for a permit.
    typealias Ticket = Int

    private struct Waiting: Sendable {
        let ticket: Ticket
        let host: String
        let rank: Int
        var passedOver = 0

        /// Passing over eight times is worth one step of priority.
        var urgency: Int { rank + passedOver / 8 }
    }

    private let limit: Int
    private let limitPerHost: Int
    private var waiting: [Waiting] = []
    private var holders: [Ticket: String] = [:]
    private var perHost: [String: Int] = [:]
    private var lastTicket = 0

    /// Limits below 1 are taken as 1.
    init(limit: Int, limitPerHost: Int) {
        self.limit = max(1, limit)
        self.limitPerHost = max(1, limitPerHost)
    }

    /// How many hold a permit.
    var holderCount: Int { holders.count }

    /// How many wait for one.
    var waitingCount: Int { waiting.count }

    /// Queues up; the permit comes through ``grant()``.
    mutating func enqueue(host: String, priority: DownloadRequest.Priority) -> Ticket {
        lastTicket += 1
        waiting.append(Waiting(ticket: lastTicket, host: host, rank: priority.rank))
        return lastTicket
    }

    /// Gives a permit back, or leaves the queue; a ticket that is neither is no error.
    mutating func release(_ ticket: Ticket) {
        if let host = holders.removeValue(forKey: ticket) {
            perHost[host, default: 1] -= 1
            if perHost[host] == 0 { perHost[host] = nil }
        } else {
            waiting.removeAll { $0.ticket == ticket }
        }
    }

    /// Gives out every permit that can be given, the most urgent first.
    mutating func grant() -> [Ticket] {
        var granted: [Ticket] = []
        while holders.count < limit, let index = next() {
            let chosen = waiting.remove(at: index)
            holders[chosen.ticket] = chosen.host
            perHost[chosen.host, default: 0] += 1
            granted.append(chosen.ticket)
            for earlier in waiting.indices where waiting[earlier].ticket < chosen.ticket {
                waiting[earlier].passedOver += 1
            }
        }
        return granted
    }

    private func next() -> Int? {
        var best: Int?
        for index in waiting.indices where perHost[waiting[index].host, default: 0] < limitPerHost {
            guard let current = best else {
                best = index
                continue
            }
            if waiting[index].urgency > waiting[current].urgency { best = index }
        }
        return best
    }
}
