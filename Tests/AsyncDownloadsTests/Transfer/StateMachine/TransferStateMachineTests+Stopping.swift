internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, stopping", .endsWhenHung)
struct TransferStoppingTests {
    @Test("rule 54: a pause ends the exchange, saves, closes, and then is told")
    func pause() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        #expect(harness.done == ["cancel 1", "close with 50", "release the permit"])
        #expect(harness.log == ["paused 50"])
        #expect(harness.machine.phase == .paused)
    }

    @Test("rule 54: a resumption goes on from what the pause saved")
    func resumeAfterPause() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.forget()
        harness.run()
        #expect(harness.done == ["ask for a permit", "open", "exchange 2 bytes=50-"])
        #expect(harness.log == ["waiting"])
    }

    @Test("rule 54: a pause during a delay is no different")
    func pauseDuringDelay() {
        var harness = StateMachineHarness.receiving()
        harness.lose()
        harness.forget()
        harness.stop(.pause)
        #expect(harness.done.isEmpty, "the partial is closed and the permit given back during a delay")
        harness.pass(.seconds(60))
        #expect(harness.log == ["paused 50"])
        #expect(harness.machine.phase == .paused)
    }

    @Test("a pause before the permit came leaves the queue")
    func pauseWhileWaiting() {
        var harness = StateMachineHarness()
        harness.automatic.remove(.permit)
        harness.run()
        harness.stop(.pause)
        #expect(harness.done == ["ask for a permit", "release the permit"])
        harness.catchUp()
        #expect(harness.machine.phase == .paused)
        #expect(harness.requests.isEmpty)
    }

    @Test("a pause that is taken back while the exchange ends costs one exchange and nothing else")
    func takenBack() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.cancelling)
        harness.stop(.pause)
        harness.run()
        #expect(harness.done == ["cancel 1"])
        harness.end(.cancelled)
        #expect(harness.done == ["cancel 1", "exchange 2 bytes=50-"])
        #expect(harness.log.isEmpty)
    }

    @Test("a pause that is taken back while the store closes opens it again")
    func takenBackWhileClosing() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.stop(.pause)
        harness.run()
        #expect(harness.done == ["cancel 1", "close with 50"])
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.catchUp()
        #expect(harness.done.suffix(3) == ["ask for a permit", "open", "exchange 2 bytes=50-"])
    }

    @Test("rule 55: bytes and heads that come after a stop are dropped; a write under way counts")
    func late() throws {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.cancelling)
        let decision = harness.machine.bytesArrived(10, exchange: 1, at: harness.now)
        #expect(decision == .write(.init(skipped: 0, count: 10, offset: 50)))
        harness.stop(.pause)
        harness.feed(harness.machine.wrote(10, at: 50, exchange: 1, at: harness.now))
        #expect(harness.bytes(10) == nil)
        harness.end(.complete)
        #expect(harness.done.suffix(2) == ["close with 60", "release the permit"])
        #expect(harness.told.last == "paused 60")
    }

    @Test("rule 55: a head that crosses a stop is dropped")
    func lateHead() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.cancelling)
        harness.stop(.pause)
        harness.head(200, ["Content-Length": "100"])
        #expect(harness.done == ["cancel 1"])
        #expect(harness.log.isEmpty)
    }

    @Test("what is reported of an exchange that is not under way is dropped")
    func superseded() {
        var harness = StateMachineHarness.receiving()
        harness.lose()
        harness.pass(.seconds(60))
        harness.forget()
        let head = ResponseHead(status: StatusCode(200), headers: [:])
        #expect(harness.machine.headArrived(head, exchange: 1, at: harness.now, date: .sample).actions.isEmpty)
        #expect(harness.machine.bytesArrived(10, exchange: 1, at: harness.now) == .ignore)
        #expect(harness.machine.wrote(10, at: 50, exchange: 1, at: harness.now).isEmpty)
        #expect(harness.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: harness.now).isEmpty)
        #expect(
            harness.machine.partialStarted(.failure(DownloadError(.diskFull)), exchange: 1, at: harness.now).isEmpty)
        #expect(harness.machine.retryDue(1, at: harness.now).isEmpty)
        #expect(harness.machine.phase == .connecting)
        #expect(harness.machine.bytes.count == 50)
    }

    @Test("a delay that a pause cut short does not cut short the next one")
    func supersededDelay() {
        var harness = StateMachineHarness.connecting()
        harness.lose()
        #expect(harness.machine.state.timer == 1)
        harness.stop(.pause)
        harness.run()
        harness.lose()
        #expect(harness.machine.state.timer == 2)
        harness.feed(harness.machine.retryDue(1, at: harness.now))
        #expect(harness.machine.state.timer == 2)
        harness.feed(harness.machine.retryDue(2, at: harness.now))
        #expect(harness.machine.phase == .connecting)
    }

    @Test("a stop while the store makes room lets the held body go, and the store's late answer is dropped")
    func whilePreparing() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.beginning)
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        harness.stop(.pause)
        #expect(
            harness.done == ["begin 100 for 1", "cancel 1", "gate 1", "close with 0", "release the permit"])
        harness.catchUp()
        #expect(harness.machine.phase == .paused)
    }

    @Test("a stop after an early end, while the store makes room, needs no cancelling")
    func whilePreparingAfterTheEnd() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.beginning)
        harness.head(200, ["Content-Length": "0"])
        harness.end()
        harness.stop(.pause)
        #expect(harness.done == ["begin 0 for 1", "gate 1", "close with 0", "release the permit"])
        #expect(harness.machine.phase == .paused)
    }

    @Test("a stop cuts off a body that was left to run out")
    func whileDraining() {
        var harness = StateMachineHarness.connecting()
        harness.head(503, ["Content-Length": "9"])
        #expect(harness.done.isEmpty)
        harness.stop(.pause)
        #expect(harness.done == ["cancel 1", "close", "release the permit"])
        #expect(harness.machine.phase == .paused)
    }

    @Test("parking keeps the bytes and ends the transfer")
    func park() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.abandon)
        #expect(harness.done == ["cancel 1", "close with 50", "release the permit", "end abandoned"])
    }

    @Test("a paused transfer is abandoned without further ado")
    func parkPaused() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.forget()
        harness.stop(.abandon)
        #expect(harness.done == ["end abandoned"])
    }

    @Test("discarding leaves nothing, whatever the state")
    func discard() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.discard)
        #expect(harness.done == ["cancel 1", "discard", "release the permit", "end discarded"])
        harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.forget()
        harness.stop(.discard)
        #expect(harness.done == ["open", "discard", "end discarded"])
    }

    @Test("discarding while a pause closes the partial opens it again to remove it")
    func discardWhileClosing() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.stop(.pause)
        harness.stop(.discard)
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.catchUp()
        #expect(harness.done.suffix(4) == ["release the permit", "open", "discard", "end discarded"])
        #expect(harness.log.isEmpty)
    }

    @Test("discarding while the transfer is about to fail leaves nothing either")
    func discardWhileFailing() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.cancelling)
        harness.feed(harness.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        harness.stop(.discard)
        harness.end(.cancelled)
        #expect(harness.done.suffix(3) == ["discard", "release the permit", "end discarded"])
        harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.end(.failed(DownloadError(.unsupported)))
        harness.stop(.discard)
        harness.catchUp()
        #expect(harness.done.suffix(2) == ["discard", "end discarded"])
    }

    @Test("discarding what cannot be opened ends all the same")
    func discardUnopened() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.partialInUse))
        harness.stop(.discard)
        #expect(harness.machine.phase == .ended)
    }

    @Test(
        "rule 54: a stop after the last byte comes too late",
        arguments: [.pause, .abandon, .discard] as [TransferStateMachine.Intent])
    func tooLate(_ intent: TransferStateMachine.Intent) {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.finishing)
        harness.bytes(50)
        harness.end()
        harness.stop(intent)
        harness.catchUp()
        #expect(harness.done.suffix(3) == ["finish 100", "release the permit", "end finished"])
    }

    @Test("rule 56: bytes that are gone after a pause are a restart that is told")
    func lostWhilePaused() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.forget()
        harness.finding = .success(.nothing)
        harness.run()
        #expect(harness.log == ["waiting", "restarted partialMissing 50"])
        harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<20)))
        harness.forget()
        harness.run()
        #expect(harness.log == ["waiting", "restarted partialTruncated 30"])
        #expect(harness.machine.bytes.count == 20)
    }

    @Test("rule 27: a pause between a restart and its first byte does not make the restart the second")
    func pauseAfterRestart() {
        var harness = StateMachineHarness.resuming()
        harness.head(416)
        harness.stop(.pause)
        harness.run()
        harness.head(416)
        #expect(harness.failure == nil)
        #expect(harness.done.last == "exchange 4 whole")
    }
}
