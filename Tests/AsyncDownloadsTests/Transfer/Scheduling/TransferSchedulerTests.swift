internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The scheduler of permits, including calls from several threads.
@Suite(.endsWhenHung)
struct TransferSchedulerTests {
    @Test
    func `a request below the limits is granted by the next delivery`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let first = scheduler.request("a", calls)
        #expect(calls.all == ["a granted"])
        let second = scheduler.request("a", calls)
        #expect(second > first)
        #expect(calls.all == ["a granted"])
    }

    @Test
    func `a request without a delivery is granted by the delivery of another one`() {
        let scheduler = TransferScheduler(limit: 2, limitPerHost: 2)
        let calls = Calls()
        _ = scheduler.permit(host: "a", priority: .normal, for: Receiver("a", calls))
        #expect(calls.all == [])
        _ = scheduler.request("b", calls)
        #expect(calls.all == ["a granted", "b granted"])
    }

    @Test
    func `a release grants the next request, and each grant is called once`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let first = scheduler.request("a", calls)
        _ = scheduler.request("b", calls, priority: .low)
        let retry = scheduler.request("c", calls, priority: .low, place: first)
        let raised = scheduler.request("d", calls, priority: .low)
        scheduler.setPriority(.high, of: raised)
        for ticket in [first, raised, retry, retry] { scheduler.releaseAndDeliver(ticket) }
        #expect(calls.all == ["a granted", "d granted", "c granted", "b granted"])
    }

    @Test
    func `a request that is released before the delivery gets no permit, and its receiver is released`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        weak var receiver: Receiver?
        do {
            let first = Receiver("a", calls)
            receiver = first
            scheduler.release(scheduler.permit(host: "a", priority: .normal, for: first))
        }
        scheduler.deliverGrants()
        #expect(receiver == nil)
        let holder = scheduler.request("b", calls)
        scheduler.release(scheduler.permit(host: "c", priority: .normal, for: Receiver("c", calls)))
        _ = scheduler.request("d", calls)
        scheduler.releaseAndDeliver(holder)
        #expect(calls.all == ["b granted", "d granted"])
    }

    @Test
    func `a grant may call the scheduler`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let holder = scheduler.request("a", calls)
        let receiver = Receiver("b", calls) { ticket in
            scheduler.release(ticket)
            _ = scheduler.request("c", calls)
        }
        _ = scheduler.permit(host: "b", priority: .normal, for: receiver)
        scheduler.releaseAndDeliver(holder)
        #expect(calls.all == ["a granted", "b granted", "c granted"])
    }

    @Test
    func `a move frees capacity at the old host, and a move to a host at its limit releases the permit`() {
        let scheduler = TransferScheduler(limit: 2, limitPerHost: 1)
        let calls = Calls()
        let mover = scheduler.request("a", calls)
        let holder = scheduler.request("b", calls)
        _ = scheduler.request("a", calls)
        #expect(scheduler.moveAndDeliver(mover, to: "a"))
        #expect(scheduler.moveAndDeliver(mover, to: "c"))
        #expect(
            calls.all == ["a granted", "b granted"],
            "the first host is below its limit, but no permit is available")
        #expect(!scheduler.moveAndDeliver(mover, to: "b"))
        #expect(calls.all == ["a granted", "b granted", "a granted"])
        scheduler.releaseAndDeliver(holder)
        #expect(!scheduler.moveAndDeliver(holder, to: "c"))
    }

    @Test
    func `a cool-down ends with a timer that grants the waiting requests`() throws {
        let time = ManualTimeSource()
        let scheduler = TransferScheduler(limit: 2, HostLimit.Settings(), time: time)
        let calls = Calls()
        let first = scheduler.request("a", calls)
        let begun = try #require(scheduler.begin(first).request)
        _ = scheduler.answered(begun, .refused(retryAfter: .seconds(5)))
        scheduler.releaseAndDeliver(first)
        _ = scheduler.request("a", calls)
        _ = scheduler.request("b", calls)
        #expect(calls.all == ["a granted", "b granted"])
        #expect(scheduler.beginExtra(OriginPair(host: "a")) == nil)
        time.advance(by: .seconds(4))
        #expect(calls.all == ["a granted", "b granted"])
        time.advance(by: .seconds(1))
        #expect(calls.all == ["a granted", "b granted", "a granted"])
        #expect(time.pendingCount == 0)
        #expect(scheduler.beginExtra(OriginPair(host: "a")) != nil)
    }

    @Test
    func `a request that follows a cool-down under the same permit loses the permit`() throws {
        let time = ManualTimeSource()
        let scheduler = TransferScheduler(limit: 2, HostLimit.Settings(), time: time)
        let calls = Calls()
        let tickets = (0..<2).map { _ in scheduler.request("a", calls) }
        let begun = try #require(scheduler.begin(tickets[0]).request)
        _ = scheduler.answered(begun, .refused(retryAfter: .seconds(5)))
        // The first one has begun its request before, and the other one hasn't.
        #expect(scheduler.begin(tickets[1]).request == nil)
        #expect(scheduler.begin(tickets[0]).request == nil)
        #expect(!scheduler.moveAndDeliver(tickets[0], to: "b"))
        #expect(time.pendingCount == 0)
    }

    @Test
    func `requests from many threads are all granted within the limits`() async {
        let scheduler = TransferScheduler(limit: 4, limitPerHost: 2)
        let load = Load(limit: 4, limitPerHost: 2)
        await withTaskGroup { group in
            for number in 0..<500 {
                group.addTask {
                    let (first, second) = ("host\(number % 3)", "host\(number % 2)")
                    let ticket = await withCheckedContinuation { continuation in
                        let receiver = Receiver(first, Calls()) { continuation.resume(returning: $0) }
                        _ = scheduler.permit(
                            host: first, priority: number % 5 == 0 ? .high : .low, for: receiver)
                        scheduler.deliverGrants()
                    }
                    load.enter(first)
                    await Task.yield()
                    load.leave(first)
                    if scheduler.moveAndDeliver(ticket, to: second) {
                        load.enter(second)
                        await Task.yield()
                        load.leave(second)
                    }
                    scheduler.releaseAndDeliver(ticket)
                }
            }
        }
        #expect(load.violations == 0)
    }
}

extension TransferScheduler {
    convenience init(limit: Int, limitPerHost: Int) {
        self.init(limit: limit, HostLimit.Settings(transferCount: limitPerHost), time: ManualTimeSource())
    }

    /// Requests a permit for `host`, delivers the grants, and returns the ticket.
    fileprivate func request(
        _ host: String, _ calls: Calls, priority: DownloadRequest.Priority = .normal, place: PermitQueue.Ticket? = nil
    ) -> PermitQueue.Ticket {
        defer { deliverGrants() }
        return permit(host: host, priority: priority, place: place, for: Receiver(host, calls))
    }

    fileprivate func permit(
        host: String, priority: DownloadRequest.Priority, place: PermitQueue.Ticket? = nil,
        for receiver: any PermitReceiver
    ) -> PermitQueue.Ticket {
        request(OriginPair(host: host), priority: priority, place: place, for: receiver)
    }

    fileprivate func releaseAndDeliver(_ ticket: PermitQueue.Ticket) {
        release(ticket)
        deliverGrants()
    }

    fileprivate func moveAndDeliver(_ ticket: PermitQueue.Ticket, to host: String) -> Bool {
        defer { deliverGrants() }
        return move(ticket, to: OriginPair(host: host))
    }
}

/// A receiver that records its grants.
private final class Receiver: PermitReceiver {
    private let host: String
    private let calls: Calls
    private let body: @Sendable (PermitQueue.Ticket) -> Void

    init(_ host: String, _ calls: Calls, body: @escaping @Sendable (PermitQueue.Ticket) -> Void = { _ in }) {
        (self.host, self.calls, self.body) = (host, calls, body)
    }

    func permitGranted(_ ticket: PermitQueue.Ticket) {
        calls.add("\(host) granted")
        body(ticket)
    }

    func permitRefused(_ ticket: PermitQueue.Ticket, _ error: DownloadError) {
        calls.add("\(host) refused: \(error.code)")
    }

    func originHindered(_ ticket: PermitQueue.Ticket) {
        calls.add("\(host) hindered")
    }
}

/// The calls of a scheduler, in order.
private final class Calls: Sendable {
    private let calls = Mutex<[String]>([])

    var all: [String] { calls.withLock { $0 } }

    func add(_ call: String) { calls.withLock { $0.append(call) } }
}

/// The number of running requests for each host, and how often it exceeded the limits.
private final class Load: Sendable {
    private let state = Mutex((running: [String: Int](), violations: 0))
    private let limit: Int
    private let limitPerHost: Int

    init(limit: Int, limitPerHost: Int) {
        (self.limit, self.limitPerHost) = (limit, limitPerHost)
    }

    var violations: Int { state.withLock { $0.violations } }

    func enter(_ host: String) {
        state.withLock { state in
            state.running[host, default: 0] += 1
            let isViolated = state.running.values.reduce(0, +) > limit || state.running[host, default: 0] > limitPerHost
            if isViolated { state.violations += 1 }
        }
    }

    func leave(_ host: String) { state.withLock { $0.running[host, default: 0] -= 1 } }
}
