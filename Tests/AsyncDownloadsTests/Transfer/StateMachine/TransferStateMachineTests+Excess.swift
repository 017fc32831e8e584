internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Responses with more bytes than their head declares (rule 30).
@Suite(.endsWhenHung)
struct TransferExcessTests {
    private static let part: HeaderFields = ["Content-Range": "bytes 50-59/100"]

    @Test
    func `rule 30: nothing is written beyond the promised end, and the response is not trusted`() {
        var harness = StateMachineHarness.receiving()
        #expect(harness.bytes(80) == 50..<100)
        #expect(harness.machine.bytes.intervals.isEmpty)
        #expect(harness.done == ["roll back to 0", "cancel 1", "close", "release the permit"])
        #expect(harness.log == ["restarted excessBytes 100", "retrying 1 malformedResponse"])
        harness.pass(.seconds(60))
        #expect(harness.done.last == "exchange 2 whole")
    }

    @Test
    func `rule 30: bytes of earlier responses are kept, and the same range is requested again`() {
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

    @Test
    func `rule 30: parts are no longer requested after repeated ones that are too long`() {
        var harness = StateMachineHarness.resuming()
        for _ in 0..<2 {
            harness.head(206, Self.part)
            harness.bytes(11)
            harness.pass(.seconds(60))
        }
        #expect(harness.log.last == "restarted invalidPartialResponse 50")
        #expect(harness.done.last == "exchange 3 whole")
    }

    @Test
    func `rule 30: after segments that are too long, the file is requested as one stream`() {
        var harness = StateMachineHarness.connecting { $0.windowLength = 40 }
        for _ in 0..<2 {
            harness.head(206, ["Content-Range": "bytes 0-39/100", "ETag": "\"v1\""])
            harness.bytes(41)
            harness.pass(.seconds(60))
        }
        #expect(harness.done.last == "exchange 3 whole")
        #expect(!harness.log.contains("restarted invalidPartialResponse 0"))
    }

    @Test
    func `rule 30: a body that is always too long is an error, and no bytes of it are recorded`() {
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

    @Test
    func `rule 30: a stop during an excess does not keep its bytes`() {
        var harness = StateMachineHarness.resuming()
        harness.head(206, Self.part)
        guard
            harness.machine.bytesArrived(11, exchange: 1, at: harness.now)
                == .write([.init(skipped: 0, count: 10, offset: 50)])
        else {
            Issue.record("the promised bytes were not written")
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
