@testable import AsyncDownloads

/// A reference implementation of the queue, which examines every request each time.
struct ReferencePermitQueue {
    struct Request {
        let ticket: Int
        let place: Int
        var host: String
        var priority: DownloadRequest.Priority
        var stage = PermitQueue.Stage.waiting
    }

    let limit: Int
    let openLimit: Int
    let limitPerHost: Int
    private(set) var requests: [Request] = []
    /// The tickets of the queue under test by their numbers; only their order matters here.
    private(set) var lastTicket = 0
    private var permitCount = 0
    private var isOldestDue = false
    private var wasByAge = false
    private var passedOver: [String: Int] = [:]

    init(limit: Int, openLimit: Int, limitPerHost: Int) {
        (self.limit, self.openLimit, self.limitPerHost) = (limit, openLimit, limitPerHost)
    }

    var holderCount: Int { requests.count { $0.stage == .running } }

    var finishingCount: Int { requests.count { $0.stage == .finishing } }

    func stage(of ticket: Int) -> PermitQueue.Stage? { requests.first { $0.ticket == ticket }?.stage }

    mutating func enqueue(host: String, priority: DownloadRequest.Priority, place: Int?) -> Int {
        lastTicket += 1
        requests.append(Request(ticket: lastTicket, place: place ?? lastTicket, host: host, priority: priority))
        return lastTicket
    }

    mutating func setPriority(_ priority: DownloadRequest.Priority, of ticket: Int) {
        for index in requests.indices where requests[index].ticket == ticket && requests[index].stage == .waiting {
            requests[index].priority = priority
        }
    }

    mutating func move(_ ticket: Int, to host: String) -> Bool {
        guard let index = requests.firstIndex(where: { $0.ticket == ticket && $0.stage == .running }) else {
            return false
        }
        if requests[index].host == host { return true }
        guard runningCount(at: host) < limitPerHost else {
            release(ticket)
            return false
        }
        requests[index].host = host
        forgetIdleHosts()
        return true
    }

    mutating func yield(_ ticket: Int) {
        for index in requests.indices where requests[index].ticket == ticket && requests[index].stage == .running {
            requests[index].stage = .finishing
        }
        forgetIdleHosts()
    }

    mutating func release(_ ticket: Int) {
        requests.removeAll { $0.ticket == ticket }
        forgetIdleHosts()
    }

    mutating func grant() -> [Int] {
        var granted: [Int] = []
        while let ticket = grantOne() { granted.append(ticket) }
        return granted
    }

    private mutating func grantOne() -> Int? {
        let hasPermit = holderCount < limit && holderCount + finishingCount < openLimit
        let candidates = requests.filter {
            $0.stage == .waiting && hasPermit && runningCount(at: $0.host) < limitPerHost
        }
        // Among requests of one priority, the host with the fewest running requests is first.
        let urgent = candidates.min {
            ($1.priority, runningCount(at: $0.host), $0.place, $0.ticket)
                < ($0.priority, runningCount(at: $1.host), $1.place, $1.ticket)
        }
        guard let urgent else { return nil }
        var chosen = urgent
        if !wasByAge {
            if isOldestDue, let oldest = oldest(of: candidates.filter { $0.stage == .waiting }) {
                chosen = oldest
                isOldestDue = false
            } else if passedOver[urgent.host, default: 0] >= 7 {
                chosen = oldest(of: candidates.filter { $0.host == urgent.host }) ?? urgent
            }
        }
        wasByAge = chosen.ticket != urgent.ticket
        run(chosen)
        return chosen.ticket
    }

    private mutating func run(_ chosen: Request) {
        let oldest = oldest(of: requests.filter { $0.host == chosen.host && $0.stage == .waiting })
        for index in requests.indices where requests[index].ticket == chosen.ticket {
            requests[index].stage = .running
        }
        if chosen.stage == .waiting {
            permitCount += 1
            isOldestDue = isOldestDue || permitCount % 8 == 7
        }
        if oldest?.ticket == chosen.ticket {
            passedOver[chosen.host] = 0
        } else if runningCount(at: chosen.host) == limitPerHost {
            passedOver[chosen.host, default: 0] += 1
        }
    }

    private func runningCount(at host: String) -> Int { requests.count { $0.host == host && $0.stage == .running } }

    private func oldest(of candidates: [Request]) -> Request? {
        candidates.min { ($0.place, $0.ticket) < ($1.place, $1.ticket) }
    }

    private mutating func forgetIdleHosts() {
        passedOver = passedOver.filter { host, _ in
            requests.contains { $0.host == host && $0.stage != .finishing }
        }
    }
}
