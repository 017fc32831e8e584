internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Hosts that don't answer, together with a host that does, in simulated time.
@Suite(.endsWhenHung)
struct SilentHostTests {
    /// The behavior of a host.
    private enum Behavior {
        /// Each request is answered, and its transfer ends, after this time.
        case answers(Duration)
        /// A connection is accepted, and nothing is sent until the idle timeout.
        case silent(Duration)
        /// The first request is handled like that, and each later one is answered immediately.
        case silentOnce(Duration)
        /// No connection is established until the timeout.
        case unreachable(Duration)
    }

    private struct Transfer {
        let host: String
        var port = 443
        let behavior: Behavior
        var place: PermitQueue.Ticket?
        var attemptCount = 0
        var requestCount = 0
    }

    private enum Event {
        case answer(Int, PermitQueue.Ticket, PermitQueue.Begun)
        case request(Int)
    }

    /// Transfers that are all requested at the start.
    private struct Simulation {
        private let policy = RetryPolicy.default
        private var queue: PermitQueue
        private var transfers: [Transfer]
        private var indices: [PermitQueue.Ticket: Int] = [:]
        private var events = Heap<Int, Duration>()
        private var eventsByNumber: [Int: Event] = [:]
        private var lastEvent = 0
        private var now = Duration.zero
        private(set) var finishedCount = 0
        private(set) var failedCount = 0
        private(set) var mostReceiving = 0
        private var receivingCount = 0

        init(limit: Int, _ transfers: [Transfer]) {
            queue = PermitQueue(limit: limit, openLimit: 2 * limit, silentLimit: 16 * limit, HostLimit.Settings())
            self.transfers = transfers
            for index in transfers.indices { enqueue(index) }
        }

        /// Runs until this number of transfers has finished, or failed, and returns the time.
        mutating func run(until count: Int, _ ended: KeyPath<Self, Int> = \.finishedCount) -> Duration {
            while self[keyPath: ended] < count {
                for ticket in queue.grant(at: now) { begin(ticket) }
                let next = [events.first?.order, queue.nextTime].compactMap { $0 }.min()
                guard let next else { return .seconds(9999) }
                now = max(now, next)
                while let (number, time) = events.first, time <= now {
                    events[number] = nil
                    if let event = eventsByNumber.removeValue(forKey: number) { handle(event) }
                }
            }
            return now
        }

        private mutating func add(_ event: Event, after delay: Duration) {
            lastEvent += 1
            eventsByNumber[lastEvent] = event
            events[lastEvent] = now + delay
        }

        private mutating func enqueue(_ index: Int) {
            let ticket = queue.enqueue(
                for: OriginPair(host: transfers[index].host, port: transfers[index].port), Self.resource(index),
                priority: .normal, place: transfers[index].place, at: now)
            if transfers[index].place == nil { transfers[index].place = ticket }
            indices[ticket] = index
        }

        private mutating func begin(_ ticket: PermitQueue.Ticket) {
            guard let index = indices[ticket] else { return }
            guard let begun = queue.begin(ticket, Self.resource(index), at: now) else { return enqueue(index) }
            transfers[index].requestCount += 1
            let delay: Duration
            switch transfers[index].behavior {
            case .answers(let time):
                delay = time
                receivingCount += 1
                mostReceiving = max(mostReceiving, receivingCount)
            case .silentOnce(let time): delay = transfers[index].requestCount == 1 ? time : .zero
            case .silent(let time), .unreachable(let time): delay = time
            }
            add(.answer(index, ticket, begun), after: delay)
        }

        private static func resource(_ index: Int) -> ResourceID {
            ResourceID(.sample("https://a.example").appending(path: "\(index)"))
        }

        private mutating func handle(_ event: Event) {
            switch event {
            case .request(let index): enqueue(index)
            case .answer(let index, let ticket, let begun):
                let answer: RequestAnswer =
                    switch transfers[index].behavior {
                    case .answers: .accepted()
                    case .silentOnce where transfers[index].requestCount > 1: .accepted()
                    case .silent, .silentOnce: .unanswered(policy, of: Self.resource(index))
                    case .unreachable: .unreachable(DownloadError(.cannotConnect), policy)
                    }
                let consequence = queue.answered(begun, answer, at: now)
                queue.release(ticket)
                indices[ticket] = nil
                for failed in consequence.failed { indices[failed] = nil }
                failedCount += consequence.failed.count
                if case .accepted = answer {
                    receivingCount = max(0, receivingCount - 1)
                    finishedCount += 1
                } else if consequence.concernsOrigin, consequence.step != .end {
                    enqueue(index)
                } else if consequence.step != .end, transfers[index].attemptCount < policy.maximumRetries {
                    transfers[index].attemptCount += 1
                    add(.request(index), after: .seconds(1 << transfers[index].attemptCount))
                } else {
                    failedCount += 1
                }
            }
        }
    }

    private static let good = [Transfer](
        repeating: Transfer(host: "good", behavior: .answers(.milliseconds(50))), count: 100)

    @Test(arguments: [2, 4, 16, 64])
    func `a host that accepts connections and never answers delays the files of another one by seconds`(limit: Int) {
        let silent = [Transfer](repeating: Transfer(host: "silent", behavior: .silent(.seconds(30))), count: 300)
        var simulation = Simulation(limit: limit, silent + Self.good)
        let end = simulation.run(until: 100)
        #expect(end <= .seconds(10), "\(end)")
        #expect(simulation.mostReceiving <= limit)
    }

    @Test(arguments: [2, 4, 16, 64])
    func `an origin that never answers delays the files of another origin of its host by seconds`(limit: Int) {
        let silent = [Transfer](repeating: Transfer(host: "good", port: 1, behavior: .silent(.seconds(30))), count: 300)
        var simulation = Simulation(limit: limit, silent + Self.good)
        let end = simulation.run(until: 100)
        #expect(end <= .seconds(10), "\(end)")
        #expect(simulation.mostReceiving <= limit)
    }

    @Test func `the number of transfers that is configured for a host includes those of silent origins`() {
        var queue = PermitQueue(limit: 8, HostLimit.Settings(transferCount: 2))
        for port in [1, 1, 2] {
            _ = queue.enqueue(for: OriginPair(host: "a", port: port), priority: .normal, at: .zero)
        }
        let begun = queue.grant(at: .zero).compactMap { queue.begin($0, at: .zero) }
        #expect(begun.count == 2)
        #expect(queue.grant(at: .seconds(3)).isEmpty && queue.silentCount == 2)
    }

    @Test func `the transfers of an origin that never answers fail together`() {
        let silent = [Transfer](repeating: Transfer(host: "silent", behavior: .silent(.seconds(30))), count: 100)
        var simulation = Simulation(limit: 64, silent)
        let end = simulation.run(until: 100, \.failedCount)
        #expect(end <= .seconds(220), "\(end)")
    }

    @Test func `the transfers of an origin that answers only the second request for each resource finish`() {
        let slow = [Transfer](repeating: Transfer(host: "slow", behavior: .silentOnce(.seconds(30))), count: 100)
        var simulation = Simulation(limit: 64, slow)
        let end = simulation.run(until: 100)
        #expect(simulation.failedCount == 0 && end <= .seconds(600), "\(end)")
    }

    @Test func `several origins that never answer don't delay the files of another origin of their host by more`() {
        let silent = (1...5).flatMap { port in
            [Transfer](repeating: Transfer(host: "good", port: port, behavior: .silent(.seconds(30))), count: 20)
        }
        var simulation = Simulation(limit: 64, silent + Self.good)
        let end = simulation.run(until: 100)
        #expect(end <= .seconds(15), "\(end)")
    }

    @Test func `for a refusal, the requests that its own origin hasn't answered count as running`() {
        var queue = PermitQueue(limit: 64, HostLimit.Settings())
        func add(_ count: Int, port: Int, at time: Duration) -> [PermitQueue.Begun] {
            for _ in 0..<count {
                _ = queue.enqueue(for: OriginPair(host: "a", port: port), priority: .normal, at: time)
            }
            return queue.grant(at: time).compactMap { queue.begin($0, at: time) }
        }
        let begun = add(6, port: 1, at: .zero)
        _ = queue.grant(at: .seconds(3))
        #expect(queue.silentCount == 6)
        _ = queue.answered(begun[0], .accepted(), at: .seconds(3))
        _ = queue.grant(at: .seconds(6))
        #expect(queue.silentCount == 5)
        _ = queue.answered(begun[1], .refused(retryAfter: .seconds(1)), at: .seconds(6))
        // The bound is half of the six that ran.
        #expect(queue.table.host(named: "a")?.limit.concurrency.count == 3)
    }

    @Test func `forty hosts that never answer delay the files of another one by seconds`() {
        let silent = (0..<40).map { Transfer(host: "silent\($0)", behavior: .silent(.seconds(30))) }
        var simulation = Simulation(limit: 4, silent + Self.good)
        let end = simulation.run(until: 100)
        #expect(end <= .seconds(24), "\(end)")
        #expect(simulation.mostReceiving <= 4)
    }

    @Test(arguments: [16, 64])
    func `two hundred hosts that drop packets delay the files of another one by few seconds`(limit: Int) {
        let dead = (0..<200).map { Transfer(host: "dead\($0)", behavior: .unreachable(.seconds(3))) }
        var simulation = Simulation(limit: limit, dead + Self.good)
        let end = simulation.run(until: 100)
        #expect(end <= .seconds(limit == 16 ? 25 : 8), "\(end)")
    }

    @Test func `a retry of a host that never answered follows the first attempts of others`() {
        let dead = (0..<100).map { Transfer(host: "dead\($0)", behavior: .unreachable(.seconds(3))) }
        let slow = [Transfer](repeating: Transfer(host: "good", behavior: .answers(.seconds(1))), count: 100)
        var simulation = Simulation(limit: 8, dead + slow)
        let end = simulation.run(until: 100)
        #expect(end <= .seconds(60), "\(end)")
    }

    @Test(arguments: [0, 3, 100])
    func `transfers of silent origins count again when they are answered, and beyond their limit`(silentLimit: Int) {
        var queue = PermitQueue(limit: 2, openLimit: 4, silentLimit: silentLimit, HostLimit.Settings())
        for number in 0..<20 {
            _ = queue.enqueue(for: OriginPair(host: "silent\(number)"), priority: .normal, at: .zero)
        }
        var begun: [(PermitQueue.Ticket, PermitQueue.Begun)] = []
        for second in stride(from: 0, to: 40, by: 2) {
            for ticket in queue.grant(at: .seconds(second)) {
                if let request = queue.begin(ticket, at: .seconds(second)) { begun.append((ticket, request)) }
            }
        }
        #expect(begun.count == min(4 + silentLimit, 20))
        #expect(queue.silentCount == begun.count)
        #expect(queue.hasRoom == (silentLimit == 100))
        for (_, request) in begun { _ = queue.answered(request, .accepted(), at: .seconds(40)) }
        #expect(queue.silentCount == 0 && queue.heldUp.count == 0)
        #expect(!queue.hasRoom)
        for (ticket, _) in begun.dropLast() { queue.release(ticket) }
        #expect(queue.hasRoom)
    }

    @Test func `with a limit of one, a slow answer doesn't let another transfer run`() {
        let slow = (0..<10).map { Transfer(host: "slow\($0)", behavior: .answers(.seconds(3))) }
        var simulation = Simulation(limit: 1, slow)
        let end = simulation.run(until: 10)
        #expect(end == .seconds(30))
        #expect(simulation.mostReceiving == 1)
    }
}
