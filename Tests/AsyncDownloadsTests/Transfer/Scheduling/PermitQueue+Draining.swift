internal import Foundation
internal import Testing

@testable import AsyncDownloads

extension PermitQueue {
    /// Creates an empty queue with fixed limits.
    init(limit: Int, openLimit: Int? = nil, limitPerHost: Int) {
        self.init(limit: limit, openLimit: openLimit, HostLimit.Settings(transferCount: limitPerHost))
    }

    mutating func grant() -> [Ticket] { grant(at: .zero) }

    mutating func enqueue(host: String, priority: DownloadRequest.Priority, place: Ticket? = nil) -> Ticket {
        enqueue(for: OriginPair(host: host), priority: priority, place: place)
    }

    mutating func move(_ ticket: Ticket, to host: String) -> Bool {
        move(ticket, to: OriginPair(host: host), at: .zero)
    }

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

extension OriginPair {
    /// Creates the pair for direct requests to a host, or for requests that another host redirects to it.
    init(host: String, port: Int = 443, via requested: String? = nil) {
        guard let target = URL(string: "https://\(host):\(port)"),
            let requested = URL(string: "https://\(requested ?? "\(host):\(port)")")
        else { preconditionFailure("no host: \(host)") }
        self.init(requested: requested, target: target)
    }
}

/// A receiver that does nothing.
final class IndifferentReceiver: PermitReceiver {
    func permitGranted(_ ticket: PermitQueue.Ticket) {}

    func permitRefused(_ ticket: PermitQueue.Ticket, _ error: DownloadError) {}

    func originHindered(_ ticket: PermitQueue.Ticket) {}
}
