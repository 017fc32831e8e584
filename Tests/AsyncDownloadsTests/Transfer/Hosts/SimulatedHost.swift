internal import Foundation

@testable import AsyncDownloads

/// A host that limits its requests or its connections, and the transfers that processes send to it, in simulated time.
struct SimulatedHost {
    /// The rule by which the host refuses requests.
    enum Rule {
        /// No request is refused.
        case unlimited
        /// At most `count` requests within windows of this length, which begin at multiples of it plus an offset.
        case fixedWindow(count: Int, period: Duration, offset: Duration)
        /// At most `count` requests within any period of this length.
        case slidingWindow(count: Int, period: Duration)
        /// A supply of at most `count` requests that is filled at this rate.
        case bucket(count: Int, perSecond: Int)
        /// At most `count` requests at once.
        case connections(count: Int)
        /// At most `count` requests at once; the connections of others are reset.
        case resets(count: Int)
        /// This percentage of the connections is reset.
        case unreliable(percent: Int)
        /// Every request is refused.
        case closed
        /// Each request for one of the first `count` resources is refused with 503 and `Retry-After`.
        case closedResources(count: Int, retryAfter: Duration)
    }

    /// The counts of a simulation.
    struct Outcome {
        var finishedCount = 0
        /// The number of transfers that have ended because they were refused too often.
        var failedCount = 0
        var requestCount = 0
        /// The numbers of requests and refusals after the end of the first cool-down.
        var laterRequestCount = 0
        var laterRefusalCount = 0
        var refusalCount = 0
        var end = Duration.zero
        var mostAtOnce = 0
        /// The time at which the last transfer finished.
        var lastFinish = Duration.zero
        /// The maximum number of connections that one transfer has lost.
        var mostLosses = 0
        /// The maximum number of refusals of one transfer.
        var mostRefusals = 0
    }

    private enum Event {
        case arrival(Ticket, PermitQueue.Begun)
        case answer(Ticket, PermitQueue.Begun, HostLimit.Answer)
        case retry(place: Ticket)
    }

    /// A ticket of one process.
    private struct Ticket: Hashable {
        let process: Int
        let ticket: PermitQueue.Ticket
    }

    /// The form of a refusal.
    enum Refusal: CaseIterable {
        /// A response with `Retry-After`: 503 for a closed resource, 429 otherwise.
        case timed
        /// A response with this status and without `Retry-After`.
        case untimed429, untimed503
    }

    private let rule: Rule
    private let refusal: Refusal
    private let latency: Duration
    /// The queue of each process.
    private var queues: [PermitQueue]
    private var generator: SplitMix64
    private var events = Heap<Int, Duration>()
    private var eventsByNumber: [Int: Event] = [:]
    private var lastEvent = 0
    private var places: [Ticket: Ticket] = [:]
    /// The numbers of lost connections, and of refusals, by the first tickets.
    private var losses: [Ticket: Int] = [:]
    private var refusals: [Ticket: Int] = [:]
    private var accepted: [Duration] = []
    private var supply = 0.0
    private var supplied = Duration.zero
    private var current = 0
    private var firstCoolDownEnd: Duration?
    private(set) var outcome = Outcome()

    init(
        _ rule: Rule, latency: Duration = .milliseconds(50), limit: Int = 64, _ settings: HostLimit.Settings = .init(),
        seed: UInt64 = 1, processCount: Int = 1, refusal: Refusal = .timed
    ) {
        self.rule = rule
        self.refusal = refusal
        self.latency = latency
        queues = Array(repeating: PermitQueue(limit: limit, settings), count: processCount)
        generator = SplitMix64(seed: seed)
        if case .bucket(let count, _) = rule { supply = Double(count) }
    }

    /// Runs this many transfers, which are divided among the processes, until all have finished, or until a time.
    mutating func run(_ count: Int, until end: Duration = .seconds(3600)) -> Outcome {
        for number in 0..<count { enqueue(in: number % queues.count) }
        var now = Duration.zero
        while outcome.finishedCount < count, now < end {
            for process in queues.indices {
                for ticket in queues[process].grant(at: now) {
                    begin(Ticket(process: process, ticket: ticket), at: now)
                }
            }
            let next = (queues.map(\.nextTime) + [events.first?.order]).compactMap { $0 }.min()
            guard let next else { break }
            now = max(now, next)
            while let (number, time) = events.first, time <= now {
                events[number] = nil
                if let event = eventsByNumber.removeValue(forKey: number) { handle(event, at: now) }
            }
        }
        outcome.end = now
        return outcome
    }

    private mutating func add(_ event: Event, at time: Duration) {
        lastEvent += 1
        eventsByNumber[lastEvent] = event
        events[lastEvent] = time
    }

    private mutating func enqueue(in process: Int, place: Ticket? = nil) {
        let resource = place.flatMap(resource)
        let ticket = Ticket(
            process: process,
            ticket: queues[process].enqueue(
                for: OriginPair(host: "host"), resource, priority: .normal, place: place?.ticket))
        places[ticket] = place ?? ticket
    }

    /// Returns the resource of a transfer; nil if the host doesn't distinguish them.
    private func resource(of place: Ticket) -> ResourceID? {
        if refusal == .timed {
            guard case .closedResources = rule else { return nil }
        }
        return ResourceID(URL.sample("https://host/").appending(path: "\(place.ticket.number)"))
    }

    private mutating func begin(_ ticket: Ticket, at now: Duration) {
        let place = places[ticket] ?? ticket
        let resource = resource(of: place)
        guard let begun = queues[ticket.process].begin(ticket.ticket, resource, at: now) else {
            places[ticket] = nil
            return enqueue(in: ticket.process, place: place)
        }
        outcome.requestCount += 1
        if let firstCoolDownEnd, now >= firstCoolDownEnd { outcome.laterRequestCount += 1 }
        add(.arrival(ticket, begun), at: now + delay())
    }

    /// Half of the latency, more or less.
    private mutating func delay() -> Duration {
        latency / 2 * Double.random(in: 0.8...1.2, using: &generator)
    }

    private mutating func handle(_ event: Event, at now: Duration) {
        switch event {
        case .arrival(let ticket, let begun):
            var answer = answer(places[ticket] ?? ticket, at: now)
            if case .refused = answer, refusal != .timed { answer = .refused(retryAfter: nil) }
            if answer == .accepted {
                current += 1
                outcome.mostAtOnce = max(outcome.mostAtOnce, current)
            }
            add(.answer(ticket, begun, answer), at: now + delay())
        case .answer(let ticket, let begun, let answer):
            let place = places.removeValue(forKey: ticket) ?? ticket
            let resource = resource(of: place)
            let consequence = queues[ticket.process].answered(begun, RequestAnswer(answer, of: resource), at: now)
            outcome.failedCount += consequence.failed.count
            queues[ticket.process].release(ticket.ticket)
            if answer == .lost {
                losses[place, default: 0] += 1
                outcome.mostLosses = max(outcome.mostLosses, losses[place] ?? 0)
                add(.retry(place: place), at: now + .seconds(1))
            } else if case .refused(let stated) = answer {
                // Without a stated time, the policy of the transfer draws a delay.
                outcome.refusalCount += 1
                refusals[place, default: 0] += 1
                let retry = refusals[place] ?? 1
                let retryAfter =
                    stated
                    ?? RetryPolicy.default.delay(
                        beforeRetry: retry, jitter: Double.random(in: 0...1, using: &generator), retryAfter: nil)
                outcome.mostRefusals = max(outcome.mostRefusals, refusals[place] ?? 0)
                if let firstCoolDownEnd {
                    if now >= firstCoolDownEnd { outcome.laterRefusalCount += 1 }
                } else {
                    firstCoolDownEnd = now + retryAfter
                }
                // The default policy permits five retries after ten refusals.
                if refusals[place] ?? 0 > 15 {
                    outcome.failedCount += 1
                } else {
                    add(.retry(place: place), at: now + retryAfter)
                }
            } else {
                current -= 1
                outcome.finishedCount += 1
                outcome.lastFinish = now
            }
        case .retry(let place):
            enqueue(in: place.process, place: place)
        }
    }

    /// Returns the decision about a request that arrives.
    private mutating func answer(_ place: Ticket, at now: Duration) -> HostLimit.Answer {
        switch rule {
        case .unlimited: return .accepted
        case .closed: return .refused(retryAfter: .seconds(1))
        case .resets(let count): return current < count ? .accepted : .lost
        case .unreliable(let percent):
            return Int.random(in: 0..<100, using: &generator) < percent ? .lost : .accepted
        case .closedResources(let count, let retryAfter):
            return place.ticket.number > count ? .accepted : .refused(retryAfter: retryAfter)
        case .fixedWindow(let count, let period, let offset):
            let index = Int((now + offset) / period)
            let start = period * index - offset
            let isFree = firstAccepted(ofLast: count).map { $0 < start } ?? true
            return accept(isFree, waiting: start + period - now, at: now)
        case .slidingWindow(let count, let period):
            let first = firstAccepted(ofLast: count)
            return accept(first.map { $0 <= now - period } ?? true, waiting: (first ?? now) + period - now, at: now)
        case .bucket(let count, let rate):
            supply = min(Double(count), supply + (now - supplied) / .seconds(1) * Double(rate))
            supplied = now
            guard supply >= 1 else { return .refused(retryAfter: .seconds(1)) }
            supply -= 1
            return .accepted
        case .connections(let count):
            return current < count ? .accepted : .refused(retryAfter: .seconds(1))
        }
    }

    /// Returns when the first of the last `count` accepted requests arrived, or nil if fewer were accepted.
    private func firstAccepted(ofLast count: Int) -> Duration? {
        accepted.count < count ? nil : accepted[accepted.count - count]
    }

    private mutating func accept(_ isAccepted: Bool, waiting: Duration, at now: Duration) -> HostLimit.Answer {
        guard isAccepted else { return .refused(retryAfter: .seconds((waiting / .seconds(1)).rounded(.up))) }
        accepted.append(now)
        return .accepted
    }
}

extension RequestAnswer {
    fileprivate init(_ answer: HostLimit.Answer, of resource: ResourceID?) {
        switch answer {
        case .accepted: self = .accepted()
        case .refused(let retryAfter): self = .refused(retryAfter: retryAfter, of: resource)
        case .lost: self = .reset(.default, of: resource ?? ResourceID(.sample("https://host/")))
        case .nothing: self = .nothing
        }
    }
}
