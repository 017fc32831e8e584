internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Downloads in segments, which are fetched one after another.
@Suite(.endsWhenHung)
struct TransferSegmentTests {
    private static func harness() -> StateMachineHarness { .connecting { $0.windowLength = 40 } }

    private static func part(_ first: Int, _ last: Int, of length: String = "100") -> HeaderFields {
        ["Content-Range": "bytes \(first)-\(last)/\(length)", "ETag": "\"v1\""]
    }

    private static func deliver(
        _ first: Int, _ last: Int, of length: String = "100", to harness: inout StateMachineHarness
    ) {
        harness.head(206, part(first, last, of: length))
        harness.bytes(last - first + 1)
        harness.end()
    }

    @Test
    func `rule 8: segments follow each other under If-Match without counting as resumptions`() {
        var harness = Self.harness()
        Self.deliver(0, 39, to: &harness)
        #expect(harness.done == ["begin 100 for 1", "gate 1", "exchange 2 bytes=40-79"])
        #expect(harness.requests.last?.headers["If-Match"] == "\"v1\"")
        #expect(harness.requests.last?.headers["If-Range"] == nil)
        Self.deliver(40, 79, to: &harness)
        Self.deliver(80, 99, to: &harness)
        #expect(harness.log == ["started 100 resumable", "verifying"])
        #expect(
            harness.done.suffix(4) == ["exchange 3 bytes=80-119", "finish 100", "release the permit", "end finished"])
    }

    @Test
    func `bytes on disk are resumed by a segment, and the resumption is emitted once`() {
        var harness = StateMachineHarness.resuming { $0.windowLength = 40 }
        #expect(harness.machine.exchanges.first?.request.fields["Range"] == "bytes=50-89")
        Self.deliver(50, 89, to: &harness)
        Self.deliver(90, 99, to: &harness)
        #expect(harness.log == ["started 100 resumable", "resumed 50", "verifying"])
    }

    @Test
    func `a segment after a failure is a resumption`() {
        var harness = Self.harness()
        Self.deliver(0, 39, to: &harness)
        harness.lose()
        harness.pass(.seconds(60))
        Self.deliver(40, 79, to: &harness)
        #expect(harness.log.contains("resumed 40"))
    }

    @Test
    func `a whole body in response to the first segment is used`() {
        var harness = Self.harness()
        harness.head(200, ["Content-Length": "100"])
        #expect(harness.bytes(100) == 0..<100)
        harness.end()
        #expect(harness.done.last == "end finished")
        #expect(harness.requests.isEmpty)
    }

    @Test
    func `rule 23: a whole body in response to a later segment is canceled, and the rest is requested as one stream`() {
        var harness = Self.harness()
        Self.deliver(0, 39, to: &harness)
        harness.forget()
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        #expect(harness.done == ["cancel 2", "exchange 3 bytes=40-"])
        #expect(harness.requests.last?.headers["If-Range"] == "\"v1\"")
        #expect(harness.log.isEmpty)
        harness.head(206, Self.part(40, 99))
        harness.bytes(60)
        harness.end()
        #expect(harness.done.last == "end finished")
    }

    @Test
    func `an empty file has no segments`() {
        var harness = Self.harness()
        harness.head(416, ["Content-Range": "bytes */0"])
        #expect(harness.done == ["cancel 1", "exchange 2 whole"])
        harness.head(200, ["Content-Length": "0"])
        harness.end()
        #expect(harness.done.last == "end finished")
    }

    @Test
    func `rule 21: segments without a validator are not combined`() {
        var harness = Self.harness()
        harness.head(206, ["Content-Range": "bytes 0-39/100"])
        #expect(harness.done == ["cancel 1", "exchange 2 whole"])
    }

    @Test
    func `rule 47: segments of a file of unknown length continue until the server states the end`() {
        var harness = Self.harness()
        Self.deliver(0, 39, of: "*", to: &harness)
        Self.deliver(40, 59, of: "*", to: &harness)
        #expect(harness.requests.last?.headers["Range"] == "bytes=60-99")
        harness.head(416, ["Content-Range": "bytes */60"])
        #expect(harness.done.suffix(3) == ["finish 60", "release the permit", "end finished"])
    }

    @Test
    func `rule 27: a changing object is requested as one stream, then fails`() {
        var harness = Self.harness()
        Self.deliver(0, 39, to: &harness)
        harness.head(412)
        #expect(harness.done.last == "exchange 3 bytes=0-39")
        Self.deliver(0, 39, to: &harness)
        harness.head(412)
        #expect(harness.done.last == "exchange 5 whole")
        #expect(harness.log.filter { $0 == "restarted contentChanged 40" }.count == 2)
        harness.head(200, ["Content-Length": "100", "ETag": "\"v3\""])
        harness.bytes(10)
        harness.lose()
        harness.pass(.seconds(60))
        harness.head(416)
        #expect(harness.failure?.code == .contentChanged)
    }

    @Test
    func `rule 14: one invalid part is retried, and after two the whole file is requested`() {
        var harness = Self.harness()
        Self.deliver(0, 39, to: &harness)
        harness.head(206)
        #expect(harness.log.last == "retrying 1 malformedResponse")
        harness.pass(.seconds(60))
        #expect(harness.machine.exchanges.first?.request.fields["Range"] == "bytes=40-79")
        harness.head(206)
        #expect(harness.log.last == "restarted invalidPartialResponse 40")
        #expect(harness.done.last == "exchange 4 whole")
    }

    @Test
    func `a valid part resets the count of invalid ones`() {
        var harness = Self.harness()
        Self.deliver(0, 39, to: &harness)
        harness.head(206)
        harness.pass(.seconds(60))
        Self.deliver(40, 79, to: &harness)
        harness.head(206)
        #expect(harness.log.last?.hasPrefix("retrying") == true)
    }

    @Test
    func `invalid responses to the first segment neither end segments at once nor lose bytes`() {
        var harness = Self.harness()
        harness.head(206)
        harness.pass(.seconds(60))
        #expect(harness.machine.exchanges.first?.request.fields["Range"] == "bytes=0-39")
        harness.head(206)
        #expect(harness.done.last == "exchange 3 whole")
        #expect(!harness.log.contains { $0.hasPrefix("restarted") })
    }
}
