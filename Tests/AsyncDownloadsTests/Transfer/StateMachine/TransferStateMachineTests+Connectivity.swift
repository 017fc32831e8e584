internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Exchanges that wait until the device has a network connection.
@Suite(.endsWhenHung)
struct TransferConnectivityTests {
    private func connecting() -> StateMachineHarness {
        StateMachineHarness.connecting { $0.idleTimeout = .seconds(4) }
    }

    @Test func `life of an app 2: the time without a network connection is not idle time`() {
        var harness = connecting()
        harness.waits(true)
        #expect(harness.log == ["waiting connectivity"])
        #expect(harness.machine.isWaitingForConnectivity)
        harness.pass(.seconds(3600))
        #expect(harness.log == ["waiting connectivity"], "nothing is retried")
        harness.waits(false)
        #expect(!harness.machine.isWaitingForConnectivity)
        harness.pass(.seconds(3))
        #expect(harness.done.allSatisfy { !$0.hasPrefix("cancel") })
        harness.pass(.seconds(2))
        #expect(harness.log == ["waiting connectivity", "retrying 1 timedOut"])
    }

    @Test func `life of an app 2: the idle timer runs again after a head`() {
        var harness = connecting()
        harness.waits(true)
        harness.pass(.seconds(60))
        harness.head(200, ["Content-Length": "100"])
        #expect(!harness.machine.isWaitingForConnectivity)
        harness.pass(.seconds(5))
        #expect(harness.log.last == "retrying 1 timedOut")
    }

    @Test(arguments: [true, false])
    func `the time without a network connection is not the time of setting a connection up`(isReported: Bool) {
        var harness = StateMachineHarness.connecting { $0.idleTimeout = nil }
        harness.waits(true)
        harness.pass(.seconds(300))
        if isReported { harness.waits(false) }
        harness.pass(.milliseconds(100))
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        #expect(harness.machine.exchanges.setup <= .milliseconds(100))
    }

    @Test(arguments: [true, false])
    func `the time in which nothing arrives is not the time of setting further connections up`(isReported: Bool) {
        var harness = StateMachineHarness.connecting { ($0.connections, $0.idleTimeout) = (.fixed(4), nil) }
        harness.pass(.milliseconds(500))
        harness.head(200, ["Content-Length": "\(16 * StateMachineHarness.mebibyte)", "ETag": "\"v1\""])
        harness.bytes(1000, of: 1)
        harness.pass(.milliseconds(500))
        harness.bytes(1000, of: 1)
        harness.accept(2)
        let setup = harness.machine.exchanges.setup
        #expect(setup == .milliseconds(500))
        harness.pass(.seconds(8))
        if isReported {
            for id in [3, 4] as [ExchangeID] {
                harness.feed(harness.machine.connectivityChanged(isWaiting: false, exchange: id, at: harness.now))
            }
        }
        harness.bytes(1000, of: 1)
        harness.pass(.milliseconds(10))
        for id in [3, 4] as [ExchangeID] { harness.accept(id) }
        #expect(harness.machine.exchanges.setup <= setup)
        #expect(harness.machine.exchanges.segments.count == 4)
    }

    @Test func `a response that takes minutes to prepare says nothing about the setup of further connections`() {
        var harness = StateMachineHarness.connecting { ($0.connections, $0.idleTimeout) = (.fixed(4), nil) }
        harness.pass(.seconds(120))
        harness.head(200, ["Content-Length": "\(16 * StateMachineHarness.mebibyte)", "ETag": "\"v1\""])
        harness.bytes(1000)
        #expect(harness.machine.exchanges.setup == .zero && harness.running.count == 4)
        #expect(
            harness.machine.extras.patience(harness.machine.exchanges) == .seconds(240), "the next may take as long")
    }

    @Test func `a report that repeats, or that comes after the head or the end, changes nothing`() {
        var harness = connecting()
        harness.waits(false)
        harness.waits(true)
        harness.waits(true)
        #expect(harness.log == ["waiting connectivity"])
        harness.head(200, ["Content-Length": "100"])
        harness.waits(true)
        #expect(!harness.machine.isWaitingForConnectivity)
        harness.lose()
        harness.waits(true)
        #expect(harness.log.filter { $0 == "waiting connectivity" }.count == 1)
    }

    @Test(arguments: [TransferStateMachine.Intent.pause, .abandon, .discard])
    func `a transfer that waits for a connection can be stopped`(_ intent: TransferStateMachine.Intent) {
        var harness = connecting()
        harness.waits(true)
        harness.stop(intent)
        #expect(harness.done.contains("cancel 1"))
        #expect(!harness.machine.isWaitingForConnectivity)
    }

    @Test func `a late subscriber receives the reason for which the transfer waits`() {
        var harness = connecting()
        harness.waits(true)
        let events = harness.machine.present(isPaused: false, outcome: nil)
        #expect(events.map(\.summary) == ["waiting connectivity"])
    }
}

extension StateMachineHarness {
    /// Reports that the newest exchange waits for a network connection, or no longer does.
    fileprivate mutating func waits(_ isWaiting: Bool) {
        feed(machine.connectivityChanged(isWaiting: isWaiting, exchange: exchange ?? 1, at: now))
    }
}
