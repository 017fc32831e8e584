internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, more bytes than promised", .endsWhenHung)
struct TransferExcessTests {
    private static let part: HeaderFields = ["Content-Range": "bytes 50-59/100"]

    @Test("rule 30: nothing is written beyond the promised end, and the response proves nothing")
    func wholeBody() {
        var stage = MachineStage.receiving()
        #expect(stage.bytes(80) == 50..<100)
        #expect(stage.machine.received.isEmpty)
        #expect(stage.done == ["retract to 0", "cancel 1", "close", "release the permit"])
        #expect(stage.story == ["restarted excessBytes 100", "retrying 1 malformedResponse"])
        stage.pass(.seconds(60))
        #expect(stage.done.last == "exchange 2 whole")
    }

    @Test("rule 30: what earlier responses brought is kept, and the same range asked for again")
    func part() {
        var stage = MachineStage.resuming()
        stage.head(206, Self.part)
        stage.bytes(4)
        #expect(stage.bytes(7) == 54..<60)
        #expect(stage.machine.received == IntervalSet(0..<50))
        #expect(stage.story.suffix(2) == ["restarted excessBytes 10", "retrying 1 malformedResponse"])
        stage.pass(.seconds(60))
        #expect(stage.done.last == "exchange 2 bytes=50-")
        stage.head(206, ["Content-Range": "bytes 50-99/100"])
        stage.bytes(50)
        stage.end()
        #expect(stage.done.last == "end finished")
    }

    @Test("rule 30: parts that are too long time and again are not asked for any more")
    func habit() {
        var stage = MachineStage.resuming()
        for _ in 0..<2 {
            stage.head(206, Self.part)
            stage.bytes(11)
            stage.pass(.seconds(60))
        }
        #expect(stage.story.last == "restarted invalidPartialResponse 50")
        #expect(stage.done.last == "exchange 3 whole")
    }

    @Test("rule 30: windows that are too long are given up for one stream, with nothing to lose")
    func windows() {
        var stage = MachineStage.connecting { $0.windowLength = 40 }
        for _ in 0..<2 {
            stage.head(206, ["Content-Range": "bytes 0-39/100", "ETag": "\"v1\""])
            stage.bytes(41)
            stage.pass(.seconds(60))
        }
        #expect(stage.done.last == "exchange 3 whole")
        #expect(!stage.story.contains("restarted invalidPartialResponse 0"))
    }

    @Test("rule 30: a body that is too long every time is an error in the end, and nothing of it is on record")
    func everyTime() {
        var stage = MachineStage.connecting()
        for _ in 0..<3 {
            stage.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
            stage.bytes(101)
            stage.pass(.seconds(60))
        }
        #expect(stage.failure?.code == .malformedResponse)
        #expect(stage.failure?.bytesKept == 0)
        #expect(stage.done.suffix(3) == ["close", "release the permit", "end malformedResponse, 0 kept"])
    }

    @Test("rule 30: a stop that crosses the excess keeps nothing of it either")
    func crossingStop() {
        var stage = MachineStage.resuming()
        stage.head(206, Self.part)
        guard case .write(_, 10, 50) = stage.machine.bytesArrived(11, exchange: 1, at: stage.now) else {
            Issue.record("the promised bytes are written")
            return
        }
        stage.automatic.remove(.cancelling)
        stage.stop(.pause)
        stage.feed(stage.machine.wrote(10, at: 50, exchange: 1, at: stage.now))
        stage.end(.cancelled)
        #expect(stage.done.suffix(2) == ["close with 50", "release the permit"])
        #expect(stage.story.last == "paused 50")
    }
}
