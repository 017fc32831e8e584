internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Connections that give way to other transfers, and those that may be replaced.
extension TransferAutomaticNumberTests {
    @Test func `a smaller bound closes the newest connections at the next sample`() {
        var harness = Self.harness()
        Self.run(&harness, seconds: 6)
        harness.budget.bound = 3
        harness.pass(.milliseconds(125))
        #expect(Self.count(harness) == 3)
        harness.budget.bound = 1
        harness.pass(.milliseconds(125))
        #expect(Self.count(harness) == 1)
        #expect(harness.machine.exchanges.segment(of: 1) != nil, "the first one is the oldest")
    }

    @Test(arguments: [ConnectionController.Mode.automatic(maximum: 16), .fixed(16)])
    func `connections that continue after the division has ended are reported, and give way to others`(
        mode: ConnectionController.Mode
    ) {
        var harness = Self.harness(mode)
        Self.run(&harness, seconds: 6)
        #expect(Self.count(harness) == 16)
        harness.lose(harness.machine.exchanges.segments[1].exchange)
        if let id = harness.machine.exchanges.requestIDs.first { harness.head(206, ["ETag": "\"v1\""], of: id) }
        #expect(harness.machine.extras.isOff)
        let count = Self.count(harness)
        #expect(count == 15)
        #expect(harness.machine.connectionReport(at: harness.now)?.number == count)
        harness.budget.bound = 4
        harness.pass(.seconds(1))
        #expect(Self.count(harness) == 4 && harness.running.count == 4)
    }

    @Test func `after a refusal, a connection that is lost is replaced, and none is added`() throws {
        let limit = 4
        let coordinator = ConnectionCoordinator(scheduler: TransferScheduler(limit: 1, limitPerHost: 1))
        var harness = Self.harness()
        func run(seconds: Double) {
            for _ in 0..<Int(seconds * 8) {
                for id in harness.machine.exchanges.requestIDs {
                    if Self.count(harness) < limit { Self.accept(id, &harness) } else { harness.head(503, of: id) }
                }
                for id in harness.machine.exchanges.segments.map(\.exchange) {
                    harness.bytes(Int(Self.share), of: id)
                    harness.budget.receivedCount += Self.share
                }
                let receivedCount = harness.budget.receivedCount
                if let report = harness.machine.connectionReport(at: harness.now) {
                    harness.budget = coordinator.budget(of: 1, report, permitHost: "a.example", at: harness.now)
                    harness.budget.receivedCount = receivedCount
                }
                harness.pass(.milliseconds(125))
                for id in harness.running where harness.machine.exchanges[id]?.isCanceled == true {
                    harness.end(.cancelled, of: id)
                }
                if let found = harness.machine.takeObservation() {
                    coordinator.record(found.observation, of: 1, about: found.origin, at: harness.now)
                }
            }
        }
        run(seconds: 8)
        #expect(Self.count(harness) == limit && harness.machine.extras.number == limit)
        harness.forget()
        harness.lose(2)
        run(seconds: 2)
        #expect(Self.count(harness) == limit)
        #expect(harness.requests.count == 1, "the host is not asked for more")
    }

    @Test func `a bound for one host doesn't apply to connections with another one`() {
        var harness = StateMachineHarness.divided(4)
        harness.budget.bound = 1
        harness.pass(.milliseconds(125))
        guard let other = URL(string: "https://b.example/file") else { return }
        harness.feed(harness.machine.replaceAddress(.init(url: other), at: harness.now))
        if let id = harness.exchange { harness.accept(id) }
        harness.bytes(1000)
        let requests = harness.machine.exchanges.requestIDs
        #expect(requests.count == 3)
        for id in requests.dropLast() { harness.accept(id) }
        if let id = requests.last { harness.head(206, ["ETag": "\"v1\""], of: id) }
        #expect(harness.machine.extras.isOff && Self.count(harness) == 3)
    }

    @Test func `a bound that falls for a moment doesn't reduce the number for longer`() {
        var harness = Self.harness()
        Self.run(&harness, seconds: 2)
        harness.budget.bound = 2
        Self.run(&harness, seconds: 0.5)
        #expect(Self.count(harness) == 2)
        harness.budget.bound = 16
        Self.run(&harness, seconds: 4)
        #expect(Self.count(harness) == 2, "connections are not closed and opened again and again")
        Self.run(&harness, seconds: 2)
        #expect(Self.count(harness) == 16)
    }
}
