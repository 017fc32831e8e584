internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Many transfers and origins in any order of events, and what is kept of hosts without requests.
@Suite(.endsWhenHung)
struct HostTableTests {
    @Test(arguments: Seeds.first(40))
    func `in any order of events, cool-downs and outages are respected, and every transfer finishes`(_ seed: UInt64) {
        var simulation = HostTableSimulation(seed: seed, transferCount: 400)
        simulation.run()
        #expect(simulation.violations == [])
        #expect(simulation.unfinishedCount == 0, "at \(simulation.now)")
        #expect(simulation.remainder == (waiting: 0, heldUp: 0, holders: 0))
    }

    @Test func `an origin that has answered is known after its requests have ended, for any time`() throws {
        for pause in [Duration.seconds(60), .seconds(1200)] {
            var queue = PermitQueue(limit: 4, HostLimit.Settings())
            try accept(&queue, host: "a", at: .zero)
            // Something else has to end before most of what is known about the host is forgotten.
            try accept(&queue, host: "b", at: pause)
            try accept(&queue, host: "b", at: pause)
            let ticket = queue.enqueue(for: OriginPair(host: "a"), priority: .normal)
            let ticketGrants = queue.grant(at: pause)
            #expect(ticketGrants == [ticket])
            let first = queue.begin(ticket, at: pause)
            let begun = try #require(first)
            let never = RetryPolicy(maximumRetries: 1)
            _ = queue.answered(begun, .unreachable(DownloadError(.cannotConnect), never), at: pause)
            queue.release(ticket)
            let second = queue.enqueue(for: OriginPair(host: "a"), priority: .normal)
            let secondGrants = queue.grant(at: pause + .seconds(5))
            #expect(secondGrants == [second])
            let next = queue.begin(second, at: pause + .seconds(5))
            let again = try #require(next)
            let consequence = queue.answered(
                again, .unreachable(DownloadError(.cannotConnect), never), at: pause + .seconds(5))
            // The retry policy would end it.
            #expect(consequence.step != .end)
        }
    }

    @Test(arguments: [OriginPair(host: "a"), OriginPair(host: "a", port: 8443)])
    func `rule 37: the pace that is learned from a refusal behind a redirect doesn't delay other requests`(
        _ direct: OriginPair
    ) throws {
        var queue = PermitQueue(limit: 4, HostLimit.Settings())
        let redirected = OriginPair(host: "a", via: "b")
        for _ in 0..<3 { try answer(&queue, redirected, .accepted(), at: .zero) }
        try answer(&queue, redirected, .refused(retryAfter: .seconds(10)), at: .zero)
        try answer(&queue, direct, .accepted(), at: .zero)
        let ticket = queue.enqueue(for: redirected, priority: .normal)
        let early = queue.grant(at: .seconds(9))
        #expect(early == [])
        let late = queue.grant(at: .seconds(12))
        #expect(late == [ticket])
    }

    @Test func `rule 37: failures are counted while all transfers wait for their retries`() throws {
        var queue = PermitQueue(limit: 4, HostLimit.Settings())
        let pair = OriginPair(host: "a")
        for number in 0..<8 {
            let resource = ResourceID(URL.sample("https://a.example/").appending(path: "\(number)"))
            try answer(&queue, pair, .failed(of: resource), at: .seconds(number))
        }
        _ = queue.enqueue(for: pair, priority: .normal)
        let early = queue.grant(at: .seconds(7))
        #expect(early == [])
        let late = queue.grant(at: .seconds(8))
        #expect(late.count == 1)
    }

    @Test func `rule 37: closed connections are counted while all transfers wait for their retries`() throws {
        var queue = PermitQueue(limit: 4, HostLimit.Settings())
        let pair = OriginPair(host: "a")
        try answer(&queue, pair, .accepted(), at: .zero)
        for number in 0..<8 {
            let resource = ResourceID(URL.sample("https://a.example/").appending(path: "\(number)"))
            try answer(&queue, pair, .reset(.default, of: resource), at: .seconds(number))
        }
        let ticket = queue.enqueue(for: pair, priority: .normal)
        let early = queue.grant(at: .seconds(7))
        #expect(early == [])
        guard case .outage = queue.hindrance(of: ticket, at: .seconds(7)) else {
            Issue.record("the origin counts as reachable")
            return
        }
    }

    @Test func `a permit without a request doesn't count for the pace`() throws {
        let pace = RequestPace(count: 2, period: .seconds(10))
        var queue = PermitQueue(limit: 1, HostLimit.Settings(pace: pace))
        let pair = OriginPair(host: "a")
        for _ in 0..<20 {
            let ticket = queue.enqueue(for: pair, priority: .normal)
            let grants = queue.grant(at: .seconds(1))
            #expect(grants == [ticket])
            queue.release(ticket)
        }
        try accept(&queue, host: "a", at: .seconds(1))
        let waiting = queue.enqueue(for: pair, priority: .normal)
        let early = queue.grant(at: .seconds(2))
        #expect(early == [])
        let late = queue.grant(at: .seconds(6))
        #expect(late == [waiting])
    }

    @Test func `a permit that ends without a request after later requests doesn't let the pace be exceeded`() throws {
        let pace = RequestPace(count: 2, period: .seconds(10))
        var queue = PermitQueue(limit: 2, HostLimit.Settings(pace: pace))
        let pair = OriginPair(host: "a")
        let first = queue.enqueue(for: pair, priority: .normal)
        let grants = queue.grant(at: .zero)
        #expect(grants == [first])
        try accept(&queue, host: "a", at: .seconds(5))
        queue.release(first)
        _ = queue.enqueue(for: pair, priority: .normal)
        let early = queue.grant(at: .seconds(9))
        #expect(early == [])
        let late = queue.grant(at: .seconds(10))
        #expect(late.count == 1)
    }

    @Test func `a transfer that waits because of its resource is notified of a longer cool-down of the origin`() throws
    {
        var queue = PermitQueue(limit: 4, HostLimit.Settings())
        let (pair, resource) = (OriginPair(host: "a"), ResourceID(.sample("https://a.example/1")))
        try answer(&queue, pair, .refused(retryAfter: .seconds(30), of: resource), at: .zero)
        let ticket = queue.enqueue(for: pair, resource, priority: .normal, at: .zero)
        try answer(&queue, pair, .refused(retryAfter: .seconds(600)), at: .seconds(10))
        let grants = queue.grant(at: .seconds(30))
        #expect(grants == [])
        #expect(queue.hindered == [ticket])
        #expect(queue.hindrance(of: ticket, at: .seconds(30)) == .coolDown(end: .seconds(610)))
    }

    private func accept(_ queue: inout PermitQueue, host: String, at now: Duration) throws {
        try answer(&queue, OriginPair(host: host), .accepted(), at: now)
    }

    /// Sends a request, which must be permitted at once.
    private func answer(
        _ queue: inout PermitQueue, _ pair: OriginPair, _ answer: RequestAnswer, at now: Duration
    ) throws {
        let ticket = queue.enqueue(for: pair, priority: .normal)
        let ticketGrants = queue.grant(at: now)
        #expect(ticketGrants == [ticket])
        let number = queue.begin(ticket, at: now)
        let begun = try #require(number)
        _ = queue.answered(begun, answer, at: now)
        queue.release(ticket)
    }
}
