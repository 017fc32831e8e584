internal import Testing

@testable import AsyncDownloads

extension PermitQueue {
    /// Creates an empty queue with fixed limits.
    init(limit: Int, openLimit: Int? = nil, limitPerHost: Int) {
        self.init(limit: limit, openLimit: openLimit, HostLimit.Settings(transferCount: limitPerHost))
    }

    mutating func grant() -> [Ticket] { grant(at: .zero) }

    mutating func move(_ ticket: Ticket, to host: String) -> Bool { move(ticket, to: host, at: .zero) }

    /// Grants and releases one request, at a limit of one.
    mutating func runOne() -> Ticket? {
        let granted = grant()
        #expect(granted.count <= 1)
        for ticket in granted { release(ticket) }
        return granted.first
    }

    /// Grants and releases requests until none waits, and returns the tickets in the order of their grants.
    mutating func runEach() -> [Ticket] {
        var order: [Ticket] = []
        var granted = grant()
        while !granted.isEmpty {
            order += granted
            for ticket in granted { release(ticket) }
            granted = grant()
        }
        return order
    }
}
