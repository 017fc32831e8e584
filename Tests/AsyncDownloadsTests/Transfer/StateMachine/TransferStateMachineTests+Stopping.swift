internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Pauses, abandonment, and discards in each state.
@Suite(.endsWhenHung)
struct TransferStoppingTests {
    @Test
    func `rule 54: a pause ends the exchange, saves, closes, and is then emitted`() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        #expect(harness.done == ["cancel 1", "close with 50", "release the permit"])
        #expect(harness.log == ["paused 50"])
        #expect(harness.machine.phase == .paused)
    }

    @Test
    func `rule 54: a resumption continues from what the pause saved`() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.forget()
        harness.run()
        #expect(harness.done == ["request a permit", "open", "exchange 2 bytes=50-"])
        #expect(harness.log == ["waiting"])
    }

    @Test
    func `rule 54: a pause during a delay takes effect in the same way`() {
        var harness = StateMachineHarness.receiving()
        harness.lose()
        harness.forget()
        harness.stop(.pause)
        #expect(harness.done.isEmpty, "the partial file is closed and the permit released during a delay")
        harness.pass(.seconds(60))
        #expect(harness.log == ["paused 50"])
        #expect(harness.machine.phase == .paused)
    }

    @Test
    func `a pause before the permit is granted releases the request for it`() {
        var harness = StateMachineHarness()
        harness.automatic.remove(.permit)
        harness.run()
        harness.stop(.pause)
        #expect(harness.done == ["request a permit", "release the permit"])
        harness.catchUp()
        #expect(harness.machine.phase == .paused)
        #expect(harness.requests.isEmpty)
    }

    @Test
    func `a pause that is canceled while the exchange ends costs only that exchange`() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.cancelling)
        harness.stop(.pause)
        harness.run()
        #expect(harness.done == ["cancel 1"])
        harness.end(.cancelled)
        #expect(harness.done == ["cancel 1", "exchange 2 bytes=50-"])
        #expect(harness.log.isEmpty)
    }

    @Test
    func `a pause that is canceled while the partial file closes opens it again`() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.stop(.pause)
        harness.run()
        #expect(harness.done == ["cancel 1", "close with 50"])
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.catchUp()
        #expect(harness.done.suffix(3) == ["request a permit", "open", "exchange 2 bytes=50-"])
    }

    @Test
    func `rule 55: bytes and heads after a stop are dropped, and a write in progress counts`() throws {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.cancelling)
        let decision = harness.machine.bytesArrived(10, exchange: 1, at: harness.now)
        #expect(decision == .write([.init(skipped: 0, count: 10, offset: 50)]))
        harness.stop(.pause)
        harness.feed(harness.machine.wrote(10, at: 50, exchange: 1, at: harness.now))
        #expect(harness.bytes(10) == nil)
        harness.end(.complete)
        #expect(harness.done.suffix(2) == ["close with 60", "release the permit"])
        #expect(harness.emitted.last == "paused 60")
    }

    @Test
    func `rule 55: a head that arrives after a stop is dropped`() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.cancelling)
        harness.stop(.pause)
        harness.head(200, ["Content-Length": "100"])
        #expect(harness.done == ["cancel 1"])
        #expect(harness.log.isEmpty)
    }

    @Test
    func `callbacks of an earlier exchange are dropped`() {
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

    @Test
    func `the timer of a delay that a pause ended does not end the next delay`() {
        var harness = StateMachineHarness.connecting()
        harness.lose()
        #expect(harness.machine.timer == 1)
        harness.stop(.pause)
        harness.run()
        harness.lose()
        #expect(harness.machine.timer == 2)
        harness.feed(harness.machine.retryDue(1, at: harness.now))
        #expect(harness.machine.timer == 2)
        harness.feed(harness.machine.retryDue(2, at: harness.now))
        #expect(harness.machine.phase == .connecting)
    }

    @Test
    func `a stop while the store prepares opens the gate, and the store's late result is dropped`() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.beginning)
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        harness.stop(.pause)
        #expect(
            harness.done == ["begin 100 for 1", "cancel 1", "gate 1", "close with 0", "release the permit"])
        harness.catchUp()
        #expect(harness.machine.phase == .paused)
    }

    @Test
    func `a stop after an early end, while the store prepares, cancels no exchange`() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.beginning)
        harness.head(200, ["Content-Length": "0"])
        harness.end()
        harness.stop(.pause)
        #expect(harness.done == ["begin 0 for 1", "gate 1", "close with 0", "release the permit"])
        #expect(harness.machine.phase == .paused)
    }

    @Test
    func `a stop cancels an exchange that is being drained`() {
        var harness = StateMachineHarness.connecting()
        harness.head(503, ["Content-Length": "9"])
        #expect(harness.done.isEmpty)
        harness.stop(.pause)
        #expect(harness.done == ["cancel 1", "close", "release the permit"])
        #expect(harness.machine.phase == .paused)
    }

    @Test
    func `abandoning keeps the bytes and ends the transfer`() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.abandon)
        #expect(harness.done == ["cancel 1", "close with 50", "release the permit", "end abandoned"])
    }

    @Test
    func `a paused transfer is abandoned at once`() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.forget()
        harness.stop(.abandon)
        #expect(harness.done == ["end abandoned"])
    }

    @Test
    func `discarding removes the bytes in every state`() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.discard)
        #expect(harness.done == ["cancel 1", "discard", "release the permit", "end discarded"])
        harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.forget()
        harness.stop(.discard)
        #expect(harness.done == ["open", "discard", "end discarded"])
    }

    @Test
    func `discarding while a pause closes the partial file opens it again to remove it`() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.stop(.pause)
        harness.stop(.discard)
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.catchUp()
        #expect(harness.done.suffix(4) == ["release the permit", "open", "discard", "end discarded"])
        #expect(harness.log.isEmpty)
    }

    @Test
    func `discarding while the transfer is about to fail removes the bytes`() {
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

    @Test
    func `discarding a partial file that cannot be opened ends the transfer`() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.partialInUse))
        harness.stop(.discard)
        #expect(harness.machine.phase == .ended)
    }

    @Test(arguments: [.pause, .abandon, .discard] as [TransferStateMachine.Intent])
    func `rule 54: a stop after the last byte has no effect`(_ intent: TransferStateMachine.Intent) {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.finishing)
        harness.bytes(50)
        harness.end()
        harness.stop(intent)
        harness.catchUp()
        #expect(harness.done.suffix(3) == ["finish 100", "release the permit", "end finished"])
    }

    @Test
    func `rule 56: a restart is emitted if bytes were lost during a pause`() {
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

    @Test
    func `rule 27: a pause between a restart and its first byte does not count as a second restart`() {
        var harness = StateMachineHarness.resuming()
        harness.head(416)
        harness.stop(.pause)
        harness.run()
        harness.head(416)
        #expect(harness.failure == nil)
        #expect(harness.done.last == "exchange 4 whole")
    }
}
