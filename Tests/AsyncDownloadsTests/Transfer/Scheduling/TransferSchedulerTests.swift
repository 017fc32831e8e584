internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The scheduler of permits, including calls from several threads.
@Suite(.endsWhenHung)
struct TransferSchedulerTests {
    @Test
    func `a request below the limits is granted before the call returns, after its ticket is known`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        _ = scheduler.request("a", calls)
        _ = scheduler.request("a", calls)
        #expect(calls.all == ["a ticket 1", "a granted", "a ticket 2"])
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
        for ticket in [first, raised, retry, retry] { scheduler.release(ticket) }
        #expect(calls.grants == ["a", "d", "c", "b"])
    }

    @Test
    func `a request that another thread's release grants receives its ticket first`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let holder = scheduler.request("a", calls)
        _ = scheduler.request("b", calls) { _ in scheduler.release(holder) }
        #expect(calls.all == ["a ticket 1", "a granted", "b ticket 2", "b granted"])
    }

    @Test
    func `a request that is released as soon as its ticket is known gets no permit`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        _ = scheduler.request("a", calls) { scheduler.release($0) }
        let holder = scheduler.request("b", calls)
        _ = scheduler.request("c", calls) {
            scheduler.release(holder)
            scheduler.release($0)
        }
        _ = scheduler.request("d", calls)
        #expect(calls.grants == ["b", "d"])
    }

    @Test
    func `a request can be changed as soon as its ticket is known`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let holder = scheduler.request("a", calls)
        _ = scheduler.request("b", calls)
        _ = scheduler.request("c", calls) { scheduler.setPriority(.high, of: $0) }
        scheduler.release(holder)
        scheduler.release(3)
        #expect(calls.grants == ["a", "c", "b"])
    }

    @Test
    func `a grant may call the scheduler`() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let holder = scheduler.request("a", calls)
        scheduler.request(host: "b", priority: .normal, ticket: { _ in }) {
            scheduler.release(2)
            _ = scheduler.request("c", calls)
        }
        scheduler.release(holder)
        #expect(calls.grants == ["a", "c"])
    }

    @Test
    func `a move frees capacity at the old host, and a move to a host at its limit releases the permit`() {
        let scheduler = TransferScheduler(limit: 2, limitPerHost: 1)
        let calls = Calls()
        let mover = scheduler.request("a", calls)
        let holder = scheduler.request("b", calls)
        _ = scheduler.request("a", calls)
        #expect(scheduler.move(mover, to: "a"))
        #expect(scheduler.move(mover, to: "c"))
        #expect(calls.grants == ["a", "b"], "the first host is below its limit, but no permit is available")
        #expect(!scheduler.move(mover, to: "b"))
        #expect(calls.grants == ["a", "b", "a"])
        scheduler.release(holder)
        #expect(!scheduler.move(holder, to: "c"))
    }

    @Test
    func `requests from many threads are all granted within the limits, after their tickets are known`() async {
        let scheduler = TransferScheduler(limit: 4, limitPerHost: 2)
        let load = Load(limit: 4, limitPerHost: 2)
        await withTaskGroup { group in
            for number in 0..<500 {
                group.addTask {
                    let (first, second) = ("host\(number % 3)", "host\(number % 2)")
                    let ticket = Mutex<PermitQueue.Ticket?>(nil)
                    await withCheckedContinuation { continuation in
                        scheduler.request(
                            host: first, priority: number % 5 == 0 ? .high : .low,
                            ticket: { known in ticket.withLock { $0 = known } },
                            granted: { continuation.resume() })
                    }
                    guard let known = ticket.withLock({ $0 }) else {
                        Issue.record("granted without a ticket")
                        return
                    }
                    load.enter(first)
                    await Task.yield()
                    load.leave(first)
                    if scheduler.move(known, to: second) {
                        load.enter(second)
                        await Task.yield()
                        load.leave(second)
                    }
                    scheduler.release(known)
                }
            }
        }
        #expect(load.violations == 0)
    }
}

extension TransferScheduler {
    /// Requests a permit for `host`, records the calls, and returns the ticket.
    fileprivate func request(
        _ host: String, _ calls: Calls, priority: DownloadRequest.Priority = .normal,
        place: PermitQueue.Ticket? = nil, ticket: (PermitQueue.Ticket) -> Void = { _ in }
    ) -> PermitQueue.Ticket {
        var known = 0
        request(
            host: host, priority: priority, place: place,
            ticket: { number in
                known = number
                ticket(number)
                calls.add("\(host) ticket \(number)")
            },
            granted: { calls.add("\(host) granted") })
        return known
    }
}

/// The calls of a scheduler, in order.
private final class Calls: Sendable {
    private let calls = Mutex<[String]>([])

    var all: [String] { calls.withLock { $0 } }

    /// The requests whose grants were called.
    var grants: [String] { all.filter { $0.hasSuffix("granted") }.map { String($0.dropLast(" granted".count)) } }

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
