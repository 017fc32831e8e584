internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("ConnectionCoordinator", .endsWhenHung)
struct ConnectionCoordinatorTests {
    private let scheduler = TransferScheduler(limit: 3, limitPerHost: 2)
    private let coordinator: ConnectionCoordinator
    private let origin: Origin

    init() throws {
        coordinator = ConnectionCoordinator(scheduler: scheduler)
        let url = try #require(URL(string: "https://a.example/"))
        origin = try #require(Origin(url))
    }

    private func report(
        _ number: Int = 1, accepted: Int? = nil, isFixed: Bool = false, isTrying: Bool = false
    ) -> ConnectionReport {
        ConnectionReport(
            origin: origin, number: number, acceptedCount: accepted ?? number, isFixed: isFixed, isTrying: isTrying)
    }

    private func budget(
        of transfer: Int = 1, _ report: ConnectionReport, at now: Duration = .zero
    ) -> ConnectionBudget {
        coordinator.budget(of: transfer, report, permitHost: "a.example", at: now)
    }

    /// Starts a transfer of the host, or queues it if the host is at its limit.
    private func start(_ host: String = "a.example") {
        _ = scheduler.request(OriginPair(host: host), priority: .normal, for: IndifferentReceiver())
        scheduler.deliverGrants()
    }

    @Test func `the files of a host share its connections, and those of another host don't`() {
        start()
        #expect(budget(report()).bound == 16)
        start()
        #expect(budget(report()).bound == 8)
        start("b.example")
        #expect(budget(report()).bound == 8)
    }

    @Test(arguments: ["a.example", "b.example"])
    func `no connection is added while a file waits for a permit`(host: String) {
        start()
        start()
        if host == "b.example" { start(host) }
        start(host)
        #expect(budget(report(1)).bound == 1)
        #expect(budget(report(5)).bound == 5, "those that exist are kept")
        #expect(budget(report(5, accepted: 3)).bound == 3, "those that were about to be requested are not added")
        #expect(budget(report(12)).bound == 8, "as far as the other file has its share")
        #expect(budget(report(12, isFixed: true)).bound == 16)
    }

    @Test func `a file that waits for another host delays nothing`() {
        start()
        for _ in 0..<3 { start("b.example") }
        // All three permits are in use.
        #expect(budget(report(1)).bound == 1)
        let other = TransferScheduler(limit: 9, limitPerHost: 2)
        let coordinator = ConnectionCoordinator(scheduler: other)
        for host in ["a.example", "b.example", "b.example", "b.example"] {
            _ = other.request(OriginPair(host: host), priority: .normal, for: IndifferentReceiver())
        }
        other.deliverGrants()
        #expect(coordinator.budget(of: 1, report(1), permitHost: "a.example", at: .zero).bound == 16)
    }

    @Test func `large files try more connections in turn`() {
        #expect(budget(of: 1, report()).mayTry && budget(of: 1, report()).mayTry)
        #expect(!budget(of: 2, report(4)).mayTry, "the first one may have begun to try")
        #expect(!budget(of: 1, report(3)).mayTry, "it hasn't, and its turn has ended")
        #expect(budget(of: 2, report(4)).mayTry)
        let trying = report(8, isTrying: true)
        #expect(budget(of: 2, trying).mayTry && budget(of: 2, trying).mayTry)
        #expect(!budget(of: 1, report(3)).mayTry && !budget(of: 1, report(3)).mayTry)
        #expect(!budget(of: 2, report(8)).mayTry, "the step is judged")
        #expect(budget(of: 1, report(3)).mayTry)
        coordinator.remove(1)
        #expect(budget(of: 2, report(8)).mayTry)
        #expect(!budget(of: 3, report(isFixed: true), at: .seconds(1)).mayTry)
        #expect(budget(of: 3, report(), at: .milliseconds(1001)).mayTry, "the other one takes no samples any more")
    }

    @Test func `a transfer learns once that another one has changed its number`() {
        #expect(budget(of: 1, report(1)).disturbance == nil)
        _ = budget(of: 2, report(1))
        #expect(budget(of: 1, report(1)).disturbance == .otherNumber, "the other one has begun to measure")
        #expect(budget(of: 1, report(2)).disturbance == nil, "its own number")
        #expect(budget(of: 2, report(1)).disturbance == .otherNumber)
        #expect(budget(of: 2, report(1)).disturbance == nil && budget(of: 1, report(2)).disturbance == nil)
        #expect(
            budget(of: 2, report(1), at: .milliseconds(1001)).disturbance == .otherNumber, "the other one is silent")
        #expect(budget(of: 1, report(2), at: .milliseconds(1001)).disturbance == nil)
        #expect(budget(of: 2, report(1), at: .milliseconds(1001)).disturbance == .otherNumber, "and measures again")
    }

    @Test func `a step of a transfer that was silent is taken back`() {
        _ = budget(of: 1, report(2, isTrying: true))
        _ = budget(of: 2, report(), at: .milliseconds(1001))
        #expect(budget(of: 2, report(2, isTrying: true), at: .milliseconds(1001)).mayTry)
        let returned = budget(of: 1, report(2, isTrying: true), at: .milliseconds(1001))
        #expect(returned.disturbance == .otherTransfer && !returned.mayTry)
    }

    @Test func `a transfer learns once that another file from the same origin has ended`() throws {
        for number in 1...2 { _ = budget(of: number, report()) }
        let url = try #require(URL(string: "https://b.example/"))
        let other = ConnectionReport(origin: try #require(Origin(url)), number: 1, acceptedCount: 1, isFixed: false)
        _ = budget(of: 3, other)
        for number in 1...2 { _ = budget(of: number, report()) }
        coordinator.remove(1)
        coordinator.remove(1)
        #expect(budget(of: 2, report()).disturbance == .departure)
        #expect(budget(of: 2, report()).disturbance == nil)
        #expect(budget(of: 3, other).disturbance == nil, "another origin")
    }

    @Test func `the end of a file that took no samples any more, because it was synced, is noticed`() {
        for number in 1...2 { _ = budget(of: number, report()) }
        _ = budget(of: 1, report())
        #expect(budget(of: 2, report(), at: .milliseconds(1001)).disturbance == .otherNumber)
        coordinator.remove(1)
        #expect(budget(of: 2, report(), at: .milliseconds(1001)).disturbance == .departure)
        coordinator.remove(1)
        #expect(budget(of: 2, report(), at: .milliseconds(1001)).disturbance == nil)
    }

    @Test func `a turn lasts for fifteen seconds, if another file waits for its own`() {
        let trying = report(2, isTrying: true)
        for second in 0...15 {
            #expect(budget(of: 1, trying, at: .seconds(second)).mayTry)
            #expect(!budget(of: 2, report(), at: .seconds(second)).mayTry)
        }
        #expect(!budget(of: 1, trying, at: .seconds(16)).mayTry)
        #expect(budget(of: 2, report(), at: .seconds(16)).mayTry)
        #expect(!budget(of: 1, report(), at: .seconds(16)).mayTry)
        #expect(!budget(of: 2, report(), at: .seconds(16)).mayTry)
        #expect(budget(of: 1, report(), at: .seconds(16)).mayTry)
        coordinator.remove(2)
        for second in 17...60 {
            #expect(budget(of: 1, trying, at: .seconds(second)).mayTry, "no other file waits")
            _ = budget(of: 3, report(16, isFixed: true), at: .seconds(second))
        }
    }

    @Test func `a limit that one of several files finds is that of all together`() {
        start()
        start()
        for number in 1...2 { _ = budget(of: number, report(4)) }
        coordinator.record(HostObservation(ceiling: 2, effectiveCount: 2), of: 3, about: origin, at: .zero)
        #expect(budget(of: 1, report(4)).bound == 5, "ten for two files")
        coordinator.record(HostObservation(effectiveCount: 8), of: 1, about: origin, at: .zero)
        coordinator.record(HostObservation(effectiveCount: 3), of: 1, about: origin, at: .zero)
        #expect(budget(of: 1, report(4)).effectiveCount == 8, "a file that shares the host can use less")
        coordinator.record(HostObservation(effectiveCount: 2, hasCollapsed: true), of: 1, about: origin, at: .zero)
        #expect(budget(of: 1, report(4)).effectiveCount == 2)
        coordinator.remove(2)
        coordinator.record(HostObservation(effectiveCount: 3), of: 1, about: origin, at: .zero)
        #expect(budget(of: 1, report(4)).effectiveCount == 3)
    }

    private func releaseExtras(for number: Int, isResponse: Bool = true, at now: Duration = .zero) -> Bool {
        coordinator.releaseExtras(for: number, at: origin, isResponse: isResponse, at: now)
    }

    @Test func `files whose host refuses another one make room for it`() {
        start()
        _ = budget(of: 1, report(8))
        #expect(budget(of: 1, report(8)).bound == 16)
        start()
        #expect(releaseExtras(for: 2))
        #expect(budget(of: 1, report(8)).bound == 4, "eight for both")
        #expect(!releaseExtras(for: 1), "its own are none of another file")
        // A file that is always refused doesn't take away more.
        #expect(releaseExtras(for: 2) && releaseExtras(for: 2, at: .seconds(1)))
        #expect(budget(of: 1, report(4), at: .seconds(1)).bound == 4)
    }

    @Test func `one connection is left to a transfer that waits for its next attempt, for a minute`() {
        start()
        _ = budget(of: 1, report(8))
        #expect(releaseExtras(for: 2))
        #expect(budget(of: 1, report(8)).bound == 7)
        #expect(budget(of: 1, report(7), at: .seconds(59)).bound == 7)
        #expect(budget(of: 1, report(7), at: .seconds(60)).bound == 16)
    }

    @Test func `the loss of a connection makes room only while others receive`() {
        var report = report(8)
        _ = budget(of: 1, report)
        #expect(releaseExtras(for: 2, isResponse: false))
        report.isFlowing = false
        _ = budget(of: 1, report)
        #expect(!releaseExtras(for: 2, isResponse: false) && releaseExtras(for: 2))
        #expect(
            releaseExtras(for: 2, at: .seconds(1)) && !releaseExtras(for: 2, at: .milliseconds(1001)), "it is paused")
    }

    @Test func `a host is shared if another file has several connections`() {
        start()
        _ = budget(of: 1, report(1))
        #expect(!budget(of: 2, report(2)).isShared)
        #expect(budget(of: 1, report(1)).isShared && !budget(of: 2, report(2)).isShared)
        // If that file has ended in the meantime, a refusal of the first additional connection is no evidence.
        coordinator.remove(2)
        coordinator.record(HostObservation(ceiling: 1), of: 1, about: origin, at: .zero)
        #expect(budget(of: 1, report(1)).bound == 16)
    }

    @Test func `no room is made where others have one connection each, or as many as their callers chose`() throws {
        let url = try #require(URL(string: "https://b.example/"))
        _ = budget(of: 1, report(1))
        _ = budget(of: 2, report(16, isFixed: true))
        _ = budget(
            of: 3, ConnectionReport(origin: try #require(Origin(url)), number: 9, acceptedCount: 9, isFixed: false))
        #expect(!releaseExtras(for: 4))
        #expect(budget(of: 1, report(1), at: .seconds(1)).bound == 1)
    }

    @Test func `the connections that a caller has chosen count`() {
        start()
        start()
        #expect(budget(of: 1, report(12, isFixed: true)).bound == 16)
        #expect(budget(of: 2, report()).bound == 4)
        _ = budget(of: 1, report(16, isFixed: true))
        #expect(budget(of: 2, report()).bound == 1)
    }

    @Test func `a transfer learns once that another one has started or ended`() {
        #expect(budget(report()).disturbance == nil)
        let ticket = scheduler.request(OriginPair(host: "b.example"), priority: .normal, for: IndifferentReceiver())
        #expect(budget(report()).disturbance == nil, "it only waits")
        scheduler.deliverGrants()
        #expect(budget(report()).disturbance == .otherTransfer)
        #expect(budget(report()).disturbance == nil)
        scheduler.release(ticket)
        #expect(budget(report()).disturbance == .otherTransfer)
        #expect(budget(report()).disturbance == nil)
    }

    @Test func `what a transfer has found out counts for the next one`() {
        coordinator.record(HostObservation(ceiling: 5, effectiveCount: 4), of: 1, about: origin, at: .zero)
        #expect(budget(report()).effectiveCount == 4)
        #expect(budget(report()).bound == 5)
        #expect(budget(report(isFixed: true)).bound == 16, "the caller's number has its own refusals")
        start()
        start()
        #expect(budget(report()).bound == 2, "the files of the host share five")
        coordinator.record(HostObservation(isRefused: true, retryAfter: .seconds(9)), of: 1, about: origin, at: .zero)
        #expect(budget(report(1)).bound == 1, "no connection is added")
        #expect(budget(report(1), at: .seconds(9)).bound == 2)
        coordinator.record(HostObservation(ignoresRanges: true), of: 1, about: origin, at: .zero)
        #expect(budget(report(1), at: .seconds(9)).bound == 1)
        #expect(budget(report(2), at: .seconds(9)).bound == 2, "those that it has accepted continue")
    }

    @Test func `memory pressure halves the number, or leaves one, for some time`() {
        _ = budget(of: 1, report(6))
        coordinator.pressureChanged(to: .warning, at: .zero)
        #expect(budget(of: 1, report(6)).bound == 3)
        #expect(budget(of: 1, report(3)).bound == 3, "it is halved once")
        coordinator.pressureChanged(to: .warning, at: .zero)
        #expect(budget(of: 1, report(3)).bound == 3, "further signs don't halve it again")
        coordinator.pressureChanged(to: .critical, at: .zero)
        #expect(budget(of: 1, report(3), at: .seconds(59)).bound == 1)
        #expect(budget(of: 1, report(3, isFixed: true), at: .seconds(59)).bound == 1)
        #expect(budget(of: 1, report(3), at: .seconds(60)).bound == 16)
        coordinator.remove(1)
        coordinator.pressureChanged(to: .warning, at: .seconds(60))
        #expect(budget(of: 2, report(16), at: .seconds(60)).bound == 8, "a transfer that starts then")
        coordinator.remove(2)
        coordinator.pressureChanged(to: .critical, at: .seconds(60))
        coordinator.pressureChanged(to: .normal, at: .seconds(60))
        #expect(budget(of: 1, report(3), at: .seconds(60)).bound == 16)
    }
}
