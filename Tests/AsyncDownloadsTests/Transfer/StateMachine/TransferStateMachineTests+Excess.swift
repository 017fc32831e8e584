internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, more bytes than promised", .endsWhenHung)
struct TransferExcessTests {
    private static let part: HeaderFields = ["Content-Range": "bytes 50-59/100"]

    @Test("rule 30: nothing is written beyond the promised end, and the response proves nothing")
    func wholeBody() {
        var harness = StateMachineHarness.receiving()
        #expect(harness.bytes(80) == 50..<100)
        #expect(harness.machine.bytes.intervals.isEmpty)
        #expect(harness.done == ["retract to 0", "cancel 1", "close", "release the permit"])
        #expect(harness.log == ["restarted excessBytes 100", "retrying 1 malformedResponse"])
        harness.pass(.seconds(60))
        #expect(harness.done.last == "exchange 2 whole")
    }

    @Test("rule 30: what earlier responses brought is kept, and the same range asked for again")
    func part() {
        var harness = StateMachineHarness.resuming()
        harness.head(206, Self.part)
        harness.bytes(4)
        #expect(harness.bytes(7) == 54..<60)
        #expect(harness.machine.bytes.intervals == IntervalSet(0..<50))
        #expect(harness.log.suffix(2) == ["restarted excessBytes 10", "retrying 1 malformedResponse"])
        harness.pass(.seconds(60))
        #expect(harness.done.last == "exchange 2 bytes=50-")
        harness.head(206, ["Content-Range": "bytes 50-99/100"])
        harness.bytes(50)
        harness.end()
        #expect(harness.done.last == "end finished")
    }

    @Test("rule 30: parts that are too long time and again are not asked for any more")
    func habit() {
        var harness = StateMachineHarness.resuming()
        for _ in 0..<2 {
            harness.head(206, Self.part)
            harness.bytes(11)
            harness.pass(.seconds(60))
        }
        #expect(harness.log.last == "restarted invalidPartialResponse 50")
        #expect(harness.done.last == "exchange 3 whole")
    }

    @Test("rule 30: windows that are too long are given up for one stream, with nothing to lose")
    func windows() {
        var harness = StateMachineHarness.connecting { $0.windowLength = 40 }
        for _ in 0..<2 {
            harness.head(206, ["Content-Range": "bytes 0-39/100", "ETag": "\"v1\""])
            harness.bytes(41)
            harness.pass(.seconds(60))
        }
        #expect(harness.done.last == "exchange 3 whole")
        #expect(!harness.log.contains("restarted invalidPartialResponse 0"))
    }

    @Test("rule 30: a body that is too long every time is an error in the end, and nothing of it is on record")
    func everyTime() {
        var harness = StateMachineHarness.connecting()
        for _ in 0..<3 {
            harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
            harness.bytes(101)
            harness.pass(.seconds(60))
        }
        #expect(harness.failure?.code == .malformedResponse)
        #expect(harness.failure?.retainedByteCount == 0)
        #expect(harness.done.suffix(3) == ["close", "release the permit", "end malformedResponse, 0 kept"])
    }

    @Test("rule 30: a stop that crosses the excess keeps nothing of it either")
    func crossingStop() {
        var harness = StateMachineHarness.resuming()
        harness.head(206, Self.part)
        guard
            case .write(.init(skipped: 0, count: 10, offset: 50)) = harness.machine.bytesArrived(
                11, exchange: 1, at: harness.now)
        else {
            Issue.record("the promised bytes are written")
            return
        }
        harness.automatic.remove(.cancelling)
        harness.stop(.pause)
        harness.feed(harness.machine.wrote(10, at: 50, exchange: 1, at: harness.now))
        harness.end(.cancelled)
        #expect(harness.done.suffix(2) == ["close with 50", "release the permit"])
        #expect(harness.log.last == "paused 50")
    }
}
