internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The observations that last longer than a run, and the actions at its end.
@Suite(.endsWhenHung)
struct RunTests {
    /// A transfer that has resumed after a pause, and receives again.
    private func resumed(_ start: StateMachineHarness) -> StateMachineHarness {
        var harness = start
        harness.stop(.pause)
        harness.run()
        if let id = harness.exchange { harness.accept(id) }
        harness.bytes(1000)
        return harness
    }

    @Test func `rule 58: a host that has refused further connections is not asked for more after a pause`() {
        var harness = StateMachineHarness.divided(4)
        for id in [2, 3, 4] as [ExchangeID] { harness.head(503, of: id) }
        #expect(harness.running == [1])
        harness = resumed(harness)
        #expect(harness.machine.extras.number == 1 && harness.running.count == 1)
    }

    @Test func `the time of setting a connection up is known after a pause`() {
        var harness = StateMachineHarness.connecting { $0.connections = .fixed(2) }
        harness.now = .milliseconds(300)
        harness.head(200, ["Content-Length": "\(16 << 20)", "ETag": "\"v1\""])
        harness.bytes(1000)
        let setup = harness.machine.exchanges.setup
        #expect(setup == .milliseconds(300))
        harness = resumed(harness)
        #expect(harness.machine.exchanges.setup > .zero)
    }

    @Test func `a timer of a mark doesn't prevent the one of the next run`() {
        var harness = StateMachineHarness.receiving()
        harness.now += .milliseconds(20)
        harness.bytes(1)
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<51)))
        harness.stop(.pause)
        // The timer elapses while nothing is open.
        harness.pass(.milliseconds(100))
        harness.run()
        harness.head(206, ["Content-Range": "bytes 51-99/100", "Content-Length": "49", "ETag": "\"v1\""])
        harness.bytes(1)
        harness.now += .milliseconds(20)
        harness.bytes(1)
        #expect(harness.marked == IntervalSet(0..<52))
        harness.pass(.milliseconds(100))
        #expect(harness.marked == IntervalSet(0..<53))
    }

    @Test func `a transfer that pauses keeps its place among the transfers of the host, and leaves it at its end`() {
        var harness = StateMachineHarness.divided(2)
        #expect(harness.machine.connectionReport(at: harness.now) != nil)
        harness.forget()
        harness.stop(.pause)
        #expect(harness.machine.phase == .paused && !harness.done.contains("leave the connections"))
        harness.stop(.abandon)
        #expect(harness.done.suffix(2) == ["leave the connections", "end abandoned"])
    }

    @Test func `a complete file leaves the connections to other transfers before it is verified`() {
        var harness = StateMachineHarness.divided(2)
        #expect(harness.machine.connectionReport(at: harness.now) != nil)
        harness.automatic.remove(.finishing)
        harness.accept(2)
        for id in [1, 2] as [ExchangeID] { harness.complete(id) }
        for id in harness.running { harness.end(of: id) }
        #expect(harness.machine.phase == .finishing)
        #expect(harness.done.suffix(2) == ["leave the connections", "finish \(16 << 20)"])
    }

    @Test func `the speed is shown while the file is verified`() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.finishing)
        harness.pass(.seconds(1))
        harness.bytes(50)
        harness.end()
        #expect(harness.machine.phase == .finishing)
        #expect(harness.machine.progress.bytesPerSecond != nil)
    }
}
