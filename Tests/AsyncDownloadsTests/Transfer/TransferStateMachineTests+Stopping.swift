internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, stopping", .endsWhenHung)
struct TransferStoppingTests {
    @Test("rule 54: a pause ends the exchange, saves, closes, and then is told")
    func pause() {
        var stage = MachineStage.receiving()
        stage.stop(.pause)
        #expect(stage.done == ["cancel 1", "close with 50", "release the permit"])
        #expect(stage.story == ["paused 50"])
        #expect(stage.machine.state == .paused)
    }

    @Test("rule 54: a resumption goes on from what the pause saved")
    func resumeAfterPause() {
        var stage = MachineStage.receiving()
        stage.stop(.pause)
        stage.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        stage.forget()
        stage.run()
        #expect(stage.done == ["ask for a permit", "open", "exchange 2 bytes=50-"])
        #expect(stage.story == ["waiting"])
    }

    @Test("rule 54: a pause during a delay is no different")
    func pauseDuringDelay() {
        var stage = MachineStage.receiving()
        stage.lose()
        stage.forget()
        stage.stop(.pause)
        #expect(stage.done.isEmpty, "the partial is closed and the permit given back during a delay")
        stage.pass(.seconds(60))
        #expect(stage.story == ["paused 50"])
        #expect(stage.machine.state == .paused)
    }

    @Test("a pause before the permit came leaves the queue")
    func pauseWhileWaiting() {
        var stage = MachineStage()
        stage.automatic.remove(.permit)
        stage.run()
        stage.stop(.pause)
        #expect(stage.done == ["ask for a permit", "release the permit"])
        stage.catchUp()
        #expect(stage.machine.state == .paused)
        #expect(stage.requests.isEmpty)
    }

    @Test("a pause that is taken back while the exchange ends costs one exchange and nothing else")
    func takenBack() {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.cancelling)
        stage.stop(.pause)
        stage.run()
        #expect(stage.done == ["cancel 1"])
        stage.end(.cancelled)
        #expect(stage.done == ["cancel 1", "exchange 2 bytes=50-"])
        #expect(stage.story.isEmpty)
    }

    @Test("a pause that is taken back while the store closes opens it again")
    func takenBackWhileClosing() {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.closing)
        stage.stop(.pause)
        stage.run()
        #expect(stage.done == ["cancel 1", "close with 50"])
        stage.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        stage.catchUp()
        #expect(stage.done.suffix(3) == ["ask for a permit", "open", "exchange 2 bytes=50-"])
    }

    @Test("rule 55: bytes and heads that come after a stop are dropped; a write under way counts")
    func late() throws {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.cancelling)
        let decision = stage.machine.bytesArrived(10, exchange: 1, at: stage.now)
        #expect(decision == .write(skipping: 0, count: 10, offset: 50))
        stage.stop(.pause)
        stage.feed(stage.machine.wrote(10, at: 50, exchange: 1, at: stage.now))
        #expect(stage.bytes(10) == nil)
        stage.end(.complete)
        #expect(stage.done.suffix(2) == ["close with 60", "release the permit"])
        #expect(stage.told.last == "paused 60")
    }

    @Test("rule 55: a head that crosses a stop is dropped")
    func lateHead() {
        var stage = MachineStage.connecting()
        stage.automatic.remove(.cancelling)
        stage.stop(.pause)
        stage.head(200, ["Content-Length": "100"])
        #expect(stage.done == ["cancel 1"])
        #expect(stage.story.isEmpty)
    }

    @Test("what is reported of an exchange that is not under way is dropped")
    func superseded() {
        var stage = MachineStage.receiving()
        stage.lose()
        stage.pass(.seconds(60))
        stage.forget()
        let head = ResponseHead(status: StatusCode(200), headers: [:])
        #expect(stage.machine.headArrived(head, exchange: 1, at: stage.now, date: .sample).isEmpty)
        #expect(stage.machine.bytesArrived(10, exchange: 1, at: stage.now) == .ignore)
        #expect(stage.machine.wrote(10, at: 50, exchange: 1, at: stage.now).isEmpty)
        #expect(stage.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: stage.now).isEmpty)
        #expect(stage.machine.began(.failure(DownloadError(.diskFull)), exchange: 1, at: stage.now).isEmpty)
        #expect(stage.machine.retryDue(number: 1, at: stage.now).isEmpty)
        #expect(stage.machine.state == .connecting)
        #expect(stage.machine.received.count == 50)
    }

    @Test("a delay that a pause cut short does not cut short the next one")
    func supersededDelay() {
        var stage = MachineStage.connecting()
        stage.lose()
        #expect(stage.machine.state == .backingOff(1))
        stage.stop(.pause)
        stage.run()
        stage.lose()
        #expect(stage.machine.state == .backingOff(2))
        stage.feed(stage.machine.retryDue(number: 1, at: stage.now))
        #expect(stage.machine.state == .backingOff(2))
        stage.feed(stage.machine.retryDue(number: 2, at: stage.now))
        #expect(stage.machine.state == .connecting)
    }

    @Test("a stop while the store makes room lets the held body go, and the store's late answer is dropped")
    func whilePreparing() {
        var stage = MachineStage.connecting()
        stage.automatic.remove(.beginning)
        stage.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        stage.stop(.pause)
        #expect(
            stage.done == ["begin 100 for 1", "cancel 1", "gate 1", "close with 0", "release the permit"])
        stage.catchUp()
        #expect(stage.machine.state == .paused)
    }

    @Test("a stop after an early end, while the store makes room, needs no cancelling")
    func whilePreparingAfterTheEnd() {
        var stage = MachineStage.connecting()
        stage.automatic.remove(.beginning)
        stage.head(200, ["Content-Length": "0"])
        stage.end()
        stage.stop(.pause)
        #expect(stage.done == ["begin 0 for 1", "gate 1", "close with 0", "release the permit"])
        #expect(stage.machine.state == .paused)
    }

    @Test("a stop cuts off a body that was left to run out")
    func whileDraining() {
        var stage = MachineStage.connecting()
        stage.head(503, ["Content-Length": "9"])
        #expect(stage.done.isEmpty)
        stage.stop(.pause)
        #expect(stage.done == ["cancel 1", "close", "release the permit"])
        #expect(stage.machine.state == .paused)
    }

    @Test("parking keeps the bytes and ends the transfer")
    func park() {
        var stage = MachineStage.receiving()
        stage.stop(.park)
        #expect(stage.done == ["cancel 1", "close with 50", "release the permit", "end parked"])
    }

    @Test("a paused transfer is parked without further ado")
    func parkPaused() {
        var stage = MachineStage.receiving()
        stage.stop(.pause)
        stage.forget()
        stage.stop(.park)
        #expect(stage.done == ["end parked"])
    }

    @Test("discarding leaves nothing, whatever the state")
    func discard() {
        var stage = MachineStage.receiving()
        stage.stop(.discard)
        #expect(stage.done == ["cancel 1", "discard", "release the permit", "end discarded"])
        stage = MachineStage.receiving()
        stage.stop(.pause)
        stage.forget()
        stage.stop(.discard)
        #expect(stage.done == ["open", "discard", "end discarded"])
    }

    @Test("discarding while a pause closes the partial opens it again to remove it")
    func discardWhileClosing() {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.closing)
        stage.stop(.pause)
        stage.stop(.discard)
        stage.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        stage.catchUp()
        #expect(stage.done.suffix(4) == ["release the permit", "open", "discard", "end discarded"])
        #expect(stage.story.isEmpty)
    }

    @Test("discarding while the transfer is about to fail leaves nothing either")
    func discardWhileFailing() {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.cancelling)
        stage.feed(stage.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        stage.stop(.discard)
        stage.end(.cancelled)
        #expect(stage.done.suffix(3) == ["discard", "release the permit", "end discarded"])
        stage = MachineStage.receiving()
        stage.automatic.remove(.closing)
        stage.end(.failed(DownloadError(.unsupported)))
        stage.stop(.discard)
        stage.catchUp()
        #expect(stage.done.suffix(2) == ["discard", "end discarded"])
    }

    @Test("discarding what cannot be opened ends all the same")
    func discardUnopened() {
        var stage = MachineStage()
        stage.finding = .failure(DownloadError(.partialInUse))
        stage.stop(.discard)
        #expect(stage.machine.state == .ended)
    }

    @Test(
        "rule 54: a stop after the last byte comes too late",
        arguments: [.pause, .park, .discard] as [TransferStateMachine.Wish])
    func tooLate(_ wish: TransferStateMachine.Wish) {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.finishing)
        stage.bytes(50)
        stage.end()
        stage.stop(wish)
        stage.catchUp()
        #expect(stage.done.suffix(3) == ["finish 100", "release the permit", "end finished"])
    }

    @Test("rule 56: bytes that are gone after a pause are a restart that is told")
    func lostWhilePaused() {
        var stage = MachineStage.receiving()
        stage.stop(.pause)
        stage.forget()
        stage.finding = .success(.nothing)
        stage.run()
        #expect(stage.story == ["waiting", "restarted partialMissing 50"])
        stage = MachineStage.receiving()
        stage.stop(.pause)
        stage.finding = .success(.bytes(.sample(), IntervalSet(0..<20)))
        stage.forget()
        stage.run()
        #expect(stage.story == ["waiting", "restarted partialTruncated 30"])
        #expect(stage.machine.received.count == 20)
    }

    @Test("rule 27: a pause between a restart and its first byte does not make the restart the second")
    func pauseAfterRestart() {
        var stage = MachineStage.resuming()
        stage.head(416)
        stage.stop(.pause)
        stage.run()
        stage.head(416)
        #expect(stage.failure == nil)
        #expect(stage.done.last == "exchange 4 whole")
    }
}
