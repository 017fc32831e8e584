internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Idle exchanges, engines that do not end exchanges, and limits on the size of a body.
@Suite(.endsWhenHung)
struct TransferTimeTests {
    @Test
    func `rule 59: a stalled exchange is replaced, but a slow one is not`() {
        var harness = StateMachineHarness.receiving { $0.idleTimeout = .seconds(4) }
        for _ in 0..<10 {
            harness.pass(.seconds(3))
            harness.bytes(1)
        }
        #expect(harness.log.isEmpty)
        harness.pass(.seconds(5))
        #expect(harness.log == ["retrying 1 timedOut"])
        #expect(harness.done.contains("cancel 1"))
    }

    @Test
    func `rule 59: an exchange with a server that never responds is replaced`() {
        var harness = StateMachineHarness.connecting { $0.idleTimeout = .seconds(4) }
        harness.pass(.seconds(5))
        #expect(harness.log == ["retrying 1 timedOut"])
    }

    @Test
    func `rule 59: disk time does not count as idle`() {
        var harness = StateMachineHarness.receiving { $0.idleTimeout = .seconds(4) }
        guard case .write = harness.machine.bytesArrived(10, exchange: 1, at: harness.now) else {
            Issue.record("nothing to write")
            return
        }
        harness.pass(.seconds(20))
        #expect(harness.log.isEmpty)
        harness.feed(harness.machine.wrote(10, at: 50, exchange: 1, at: harness.now))
        harness.pass(.seconds(3))
        #expect(harness.log.isEmpty)
        harness.pass(.seconds(3))
        #expect(harness.log == ["retrying 1 timedOut"])
    }

    @Test
    func `a body that is held back while the store prepares is not idle`() {
        var harness = StateMachineHarness.connecting { $0.idleTimeout = .seconds(4) }
        harness.automatic.remove(.beginning)
        harness.head(200, ["Content-Length": "100"])
        harness.pass(.seconds(60))
        harness.catchUp()
        #expect(harness.machine.phase == .receiving)
        #expect(harness.failure == nil)
    }

    @Test
    func `an exchange that does not end while being drained is canceled`() {
        var harness = StateMachineHarness.connecting { $0.idleTimeout = .seconds(4) }
        harness.head(404, ["Content-Length": "9"])
        #expect(harness.done.isEmpty)
        harness.pass(.seconds(5))
        #expect(harness.failure?.code == .httpStatus)
    }

    @Test
    func `rule 59: an exchange that the engine does not end is abandoned, and its callbacks are dropped`() {
        var harness = StateMachineHarness.receiving { $0.idleTimeout = .seconds(4) }
        harness.automatic.remove(.cancelling)
        harness.pass(.seconds(5))
        #expect(harness.log.isEmpty, "its end is awaited")
        harness.pass(.seconds(5))
        #expect(harness.done.contains("abandon 1"))
        #expect(harness.log == ["retrying 1 timedOut"])
        #expect(harness.machine.bytesArrived(10, exchange: 1, at: harness.now) == .ignore)
    }

    @Test
    func `rule 55: an exchange whose bytes are being written is not abandoned`() {
        var harness = StateMachineHarness.receiving { $0.idleTimeout = .seconds(4) }
        harness.automatic.remove(.cancelling)
        guard case .write = harness.machine.bytesArrived(10, exchange: 1, at: harness.now) else {
            Issue.record("nothing to write")
            return
        }
        harness.stop(.pause)
        harness.pass(.seconds(60))
        #expect(!harness.done.contains("abandon 1"))
        harness.feed(harness.machine.wrote(10, at: 50, exchange: 1, at: harness.now))
        harness.pass(.seconds(5))
        #expect(harness.done.contains("abandon 1"))
        #expect(harness.machine.phase == .paused)
        #expect(harness.machine.bytes.count == 60)
    }

    @Test
    func `a falling speed is emitted during a stall`() throws {
        var harness = StateMachineHarness.receiving { $0.idleTimeout = nil }
        harness.bytes(20)
        harness.pass(.seconds(2))
        let early = try #require(harness.machine.progress.bytesPerSecond)
        harness.pass(.seconds(30))
        let late = try #require(harness.machine.progress.bytesPerSecond)
        #expect(late < early / 100)
    }

    @Test
    func `a body that is declared longer than allowed is not received`() {
        var harness = StateMachineHarness.connecting { $0.maximumByteCount = 99 }
        harness.head(200, ["Content-Length": "100"])
        #expect(harness.failure?.code == .bodyTooLarge)
        #expect(!harness.done.contains { $0.hasPrefix("begin") })
        harness = StateMachineHarness.resuming { $0.maximumByteCount = 99 }
        harness.head(206, ["Content-Range": "bytes 50-99/100"])
        #expect(harness.failure?.code == .bodyTooLarge)
    }

    @Test
    func `a body of unknown length is canceled at the limit`() {
        var harness = StateMachineHarness.connecting { $0.maximumByteCount = 60 }
        harness.head(200)
        #expect(harness.bytes(60) == 0..<60)
        #expect(harness.failure == nil)
        #expect(harness.bytes(1) == 60..<60)
        #expect(harness.failure?.code == .bodyTooLarge)
    }

    @Test
    func `a body of exactly the limit is accepted`() {
        var harness = StateMachineHarness.receiving { $0.maximumByteCount = 100 }
        harness.bytes(50)
        harness.end()
        #expect(harness.done.last == "end finished")
    }

    @Test
    func `the limit also applies to a file that is complete on disk`() {
        var harness = StateMachineHarness { $0.maximumByteCount = 49 }
        harness.finding = .success(.bytes(.sample(length: 50), IntervalSet(0..<50)))
        harness.run()
        #expect(harness.failure?.code == .bodyTooLarge)
    }
}
