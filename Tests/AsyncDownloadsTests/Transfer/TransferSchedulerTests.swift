internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferScheduler", .endsWhenHung)
struct TransferSchedulerTests {
    @Test("a request that may run at once is granted before the call returns, after its ticket is known")
    func atOnce() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        _ = scheduler.request("a", calls)
        _ = scheduler.request("a", calls)
        #expect(calls.all == ["a ticket 1", "a granted", "a ticket 2"])
    }

    @Test("a release grants the next request, and each grant is called once")
    func afterRelease() {
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

    @Test("a request that another thread's release grants is told its ticket first")
    func grantedMeanwhile() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let holder = scheduler.request("a", calls)
        _ = scheduler.request("b", calls) { _ in scheduler.release(holder) }
        #expect(calls.all == ["a ticket 1", "a granted", "b ticket 2", "b granted"])
    }

    @Test("a request that is released as soon as its ticket is known is not granted, and keeps no permit")
    func releasedMeanwhile() {
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

    @Test("a request can be changed as soon as its ticket is known")
    func changedMeanwhile() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let holder = scheduler.request("a", calls)
        _ = scheduler.request("b", calls)
        _ = scheduler.request("c", calls) { scheduler.setPriority(.high, of: $0) }
        _ = scheduler.request("a", calls) {
            scheduler.move($0, to: "d") { calls.add("d granted") }
            scheduler.setPriority(.high, of: $0)
        }
        scheduler.release(holder)
        for ticket in [3, 4] { scheduler.release(ticket) }
        #expect(calls.grants == ["a", "c", "d", "b"])
    }

    @Test("a grant may call the scheduler")
    func calledBack() {
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

    @Test("a transfer that moves is granted once its new host has room, and makes room at the old one")
    func moving() {
        let scheduler = TransferScheduler(limit: 3, limitPerHost: 1)
        let calls = Calls()
        let mover = scheduler.request("a", calls)
        let holder = scheduler.request("b", calls)
        _ = scheduler.request("a", calls)
        scheduler.move(mover, to: "b") { calls.add("moved granted") }
        #expect(calls.grants == ["a", "b", "a"])
        scheduler.release(holder)
        #expect(calls.grants == ["a", "b", "a", "moved"])
        scheduler.move(mover, to: "c") { calls.add("moved granted") }
        #expect(calls.grants == ["a", "b", "a", "moved", "moved"])
    }

    @Test("transfers that move to each other's hosts are both granted while all permits are held")
    func exchangedHosts() {
        let scheduler = TransferScheduler(limit: 2, limitPerHost: 1)
        let calls = Calls()
        let first = scheduler.request("a", calls)
        let second = scheduler.request("b", calls)
        _ = scheduler.request("c", calls)
        scheduler.move(first, to: "b") { calls.add("first granted") }
        scheduler.move(second, to: "a") { calls.add("second granted") }
        #expect(calls.grants == ["a", "b", "first", "second"])
    }

    @Test("a move to the host where the transfer runs is granted at once, and that of an unknown ticket never")
    func movingNowhere() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let ticket = scheduler.request("a", calls)
        scheduler.move(ticket, to: "a") { calls.add("same granted") }
        scheduler.release(ticket)
        scheduler.move(ticket, to: "b") { calls.add("unknown granted") }
        _ = scheduler.request("c", calls)
        #expect(calls.grants == ["a", "same", "c"])
    }

    @Test("the grant of a move takes the place of one that was not called yet")
    func movingWhileWaiting() {
        let scheduler = TransferScheduler(limit: 1, limitPerHost: 1)
        let calls = Calls()
        let holder = scheduler.request("a", calls)
        let waiting = scheduler.request("b", calls)
        scheduler.move(waiting, to: "c") { calls.add("first granted") }
        scheduler.move(waiting, to: "c") { calls.add("second granted") }
        scheduler.release(holder)
        #expect(calls.grants == ["a", "second"])
    }

    @Test("from many threads, all are granted, each knows its ticket by then, and the limits hold")
    func concurrently() async {
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
                    await withCheckedContinuation { continuation in
                        scheduler.move(known, to: second) { continuation.resume() }
                    }
                    load.enter(second)
                    await Task.yield()
                    load.leave(second)
                    scheduler.release(known)
                }
            }
        }
        #expect(load.violations == 0)
    }
}

extension TransferScheduler {
    /// Requests a permit for `host`, records what is called, and returns the ticket.
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

/// What a scheduler called, in order.
private final class Calls: Sendable {
    private let calls = Mutex<[String]>([])

    var all: [String] { calls.withLock { $0 } }

    /// Whose grants were called.
    var grants: [String] { all.filter { $0.hasSuffix("granted") }.map { String($0.dropLast(" granted".count)) } }

    func add(_ call: String) { calls.withLock { $0.append(call) } }
}

/// Counts who runs at which host, and how often that was more than the limits allow.
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
