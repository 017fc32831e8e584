internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("ExchangeProgress", .endsWhenHung)
struct ExchangeProgressTests {
    private func progress(at now: Duration = .zero) -> ExchangeProgress {
        ExchangeProgress(request: .everything, at: now)
    }

    @Test("idle is the time since the last activity")
    func idle() {
        var progress = progress()
        progress.check(at: .seconds(1), callbackTime: .zero)
        #expect(progress.idleTime == .seconds(1))
        progress.keepAlive(at: .milliseconds(1500))
        progress.check(at: .seconds(2), callbackTime: .zero)
        #expect(progress.idleTime == .milliseconds(500))
    }

    @Test("the time that the thread spends in callbacks is not the server's")
    func busy() {
        var progress = progress()
        // The thread has been busy before this exchange.
        progress.check(at: .seconds(1), callbackTime: .seconds(50))
        #expect(progress.idleTime == .seconds(1))
        progress.check(at: .seconds(5), callbackTime: .seconds(54))
        #expect(progress.idleTime == .seconds(1))
        progress.check(at: .seconds(9), callbackTime: .seconds(54))
        #expect(progress.idleTime == .seconds(5))
        progress.keepAlive(at: .seconds(9))
        progress.check(at: .seconds(10), callbackTime: .seconds(54))
        #expect(progress.idleTime == .seconds(1))
        progress.check(at: .seconds(30), callbackTime: .seconds(60))
        #expect(progress.idleTime == .seconds(15))
    }

    @Test("a server is silent for long, whatever the callback time was before its last byte")
    func silent() {
        var progress = progress()
        for second in 1...20 { progress.check(at: .seconds(second), callbackTime: .seconds(second)) }
        #expect(progress.idleTime == .seconds(1))
        for second in 21...40 { progress.check(at: .seconds(second), callbackTime: .seconds(20)) }
        #expect(progress.idleTime == .seconds(21))
    }

    @Test("what arrives while bytes are written belongs behind them, and nothing counts after a failure")
    func pending() {
        var progress = progress()
        progress.accept(skipping: 3, end: 20)
        #expect(progress.receive(13, limit: nil, at: .zero) == .init(skipped: 3, count: 10, offset: 0))
        #expect(progress.receive(5, limit: nil, at: .zero) == .init(skipped: 0, count: 5, offset: 10))
        #expect(progress.position == 15)
        progress.finishWrite(at: .zero)
        #expect(progress.isWriting)
        progress.failWrite()
        #expect(!progress.isWriting)
        #expect(progress.hasFailed)
    }

    @Test("a callback time that nobody knows changes nothing")
    func unknown() {
        var progress = progress()
        progress.check(at: .seconds(1), callbackTime: nil)
        #expect(progress.idleTime == .seconds(1))
        progress.check(at: .seconds(2), callbackTime: .seconds(7200))
        #expect(progress.idleTime == .seconds(2))
        progress.check(at: .seconds(30), callbackTime: .seconds(7200))
        #expect(progress.idleTime == .seconds(30))
        progress.check(at: .seconds(40), callbackTime: nil)
        #expect(progress.idleTime == .seconds(40))
    }

    @Test("a write that fails leaves what is written behind it out")
    func gap() {
        var harness = StateMachineHarness.receiving()
        #expect(
            harness.machine.bytesArrived(10, exchange: 1, at: .zero) == .write(.init(skipped: 0, count: 10, offset: 50))
        )
        #expect(
            harness.machine.bytesArrived(10, exchange: 1, at: .zero) == .write(.init(skipped: 0, count: 10, offset: 60))
        )
        harness.automatic = []
        harness.feed(harness.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        harness.feed(harness.machine.wrote(10, at: 60, exchange: 1, at: .zero))
        #expect(harness.machine.bytes.count == 50)
    }

    @Test("rule 59: a thread that is busy for others does not make a healthy exchange look stalled")
    func machine() {
        var harness = StateMachineHarness.receiving { $0.idleTimeout = .seconds(4) }
        for second in 1...20 {
            harness.feed(harness.machine.tick(at: .seconds(second), [1: .init(callbackTime: .seconds(second))]))
        }
        #expect(harness.log.isEmpty)
        for second in 21...24 {
            harness.feed(harness.machine.tick(at: .seconds(second), [1: .init(callbackTime: .seconds(20))]))
        }
        #expect(harness.log == ["retrying 1 timedOut"])
    }

    @Test("rule 59: an exchange that is held up here is not stalled")
    func heldUp() {
        var harness = StateMachineHarness.receiving { $0.idleTimeout = .seconds(4) }
        for second in 1...20 {
            harness.feed(
                harness.machine.tick(at: .seconds(second), [1: .init(callbackTime: .zero, isInCallback: true)]))
        }
        #expect(harness.log.isEmpty)
    }

    @Test("a clock of callbacks counts the one in progress")
    func clock() {
        let clock = CallbackClock()
        #expect(clock.time == .zero)
        let inside = clock.measure {
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(2) {}
            return clock.time
        }
        #expect(inside >= .milliseconds(2))
        let after = clock.time
        #expect(after >= inside)
        #expect(clock.time == after, "it stands still between callbacks")
    }
}
