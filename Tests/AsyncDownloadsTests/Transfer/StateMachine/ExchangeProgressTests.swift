internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The progress of one exchange: idle time and pending writes.
@Suite(.endsWhenHung)
struct ExchangeProgressTests {
    private func progress(at now: Duration = .zero) -> ExchangeProgress {
        ExchangeProgress(request: .everything, at: now)
    }

    @Test
    func `the idle time is the time since the last activity`() {
        var progress = progress()
        progress.check(at: .seconds(1), callbackTime: .zero)
        #expect(progress.idleTime == .seconds(1))
        progress.keepAlive(at: .milliseconds(1500))
        progress.check(at: .seconds(2), callbackTime: .zero)
        #expect(progress.idleTime == .milliseconds(500))
    }

    @Test
    func `time that the thread spends in callbacks does not count as idle`() {
        var progress = progress()
        // The thread was busy before this exchange.
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

    @Test
    func `callback time before the last byte does not reduce the idle time`() {
        var progress = progress()
        for second in 1...20 { progress.check(at: .seconds(second), callbackTime: .seconds(second)) }
        #expect(progress.idleTime == .seconds(1))
        for second in 21...40 { progress.check(at: .seconds(second), callbackTime: .seconds(20)) }
        #expect(progress.idleTime == .seconds(21))
    }

    @Test
    func `bytes that arrive during a write follow it, and none count after a failure`() {
        var progress = progress()
        progress.accept(skipping: 3, end: 20)
        #expect(progress.receive(13, limit: nil, at: .zero) == .init(skipped: 3, count: 10, offset: 0))
        #expect(progress.receive(5, limit: nil, at: .zero) == .init(skipped: 0, count: 5, offset: 10))
        #expect(progress.position == 15)
        progress.beginWrites([0..<10, 10..<15])
        progress.finishWrite(0..<10, at: .zero)
        #expect(progress.isWriting && progress.writes == [10..<15])
        progress.failWrite()
        #expect(!progress.isWriting && progress.writes.isEmpty && progress.hasFailed)
    }

    @Test
    func `an unknown callback time does not change the idle time`() {
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

    @Test
    func `bytes written after a failed write do not count`() {
        var harness = StateMachineHarness.receiving()
        #expect(
            harness.machine.bytesArrived(10, exchange: 1, at: .zero)
                == .write([.init(skipped: 0, count: 10, offset: 50)]))
        #expect(
            harness.machine.bytesArrived(10, exchange: 1, at: .zero)
                == .write([.init(skipped: 0, count: 10, offset: 60)]))
        harness.automatic = []
        harness.feed(harness.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        harness.feed(harness.machine.wrote(10, at: 60, exchange: 1, at: .zero))
        #expect(harness.machine.bytes.count == 50)
    }

    @Test
    func `rule 59: a thread that is busy with other exchanges does not make an exchange look stalled`() {
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

    @Test
    func `rule 59: an exchange that is held back locally is not stalled`() {
        var harness = StateMachineHarness.receiving { $0.idleTimeout = .seconds(4) }
        for second in 1...20 {
            harness.feed(
                harness.machine.tick(at: .seconds(second), [1: .init(callbackTime: .zero, isInCallback: true)]))
        }
        #expect(harness.log.isEmpty)
    }

    @Test
    func `a callback clock includes the callback in progress`() {
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
        #expect(clock.time == after, "the clock stops between callbacks")
    }
}
