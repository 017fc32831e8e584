internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Servers that misunderstand If-Range (rule 34).
@Suite(.endsWhenHung)
struct TransferConditionTests {
    private static let whole: HeaderFields = ["Content-Length": "100", "ETag": "\"v1\""]

    private static func part(from first: Int) -> HeaderFields {
        ["Content-Range": "bytes \(first)-99/100", "ETag": "\"v1\""]
    }

    /// Returns a transfer whose condition got the whole body with the same entity tag as its response.
    private static func misunderstood() -> StateMachineHarness {
        var harness = StateMachineHarness.resuming()
        harness.head(200, whole)
        return harness
    }

    @Test
    func `rule 34: the range is requested once without a condition before bytes are discarded`() throws {
        var harness = Self.misunderstood()
        #expect(harness.done == ["cancel 1", "exchange 2 bytes=50-"])
        #expect(harness.log.isEmpty)
        let request = try #require(harness.requests.last)
        #expect(request.headers["If-Range"] == nil)
        harness.head(206, Self.part(from: 50))
        #expect(harness.bytes(50) == 50..<100)
        harness.end()
        #expect(harness.done.last == "end finished")
        #expect(harness.log == ["started 100 resumable", "resumed 50", "verifying"])
    }

    @Test
    func `rule 34: a server that responded to a request without a condition gets such requests from then on`() {
        var harness = Self.misunderstood()
        harness.head(206, Self.part(from: 50))
        harness.bytes(10)
        harness.lose()
        harness.pass(.seconds(60))
        #expect(harness.requests.last?.headers["Range"] == "bytes=60-")
        #expect(harness.requests.last?.headers["If-Range"] == nil)
    }

    @Test
    func `rule 34: a second whole body is used from its first byte, without a third request`() {
        var harness = Self.misunderstood()
        harness.forget()
        harness.head(200, Self.whole)
        #expect(harness.log == ["restarted rangeIgnored 50", "started 100 resumable"])
        #expect(harness.done == ["begin 100 for 2", "gate 2"])
        #expect(harness.bytes(100) == 0..<100)
    }

    @Test
    func `rule 34: the condition is dropped once per transfer`() {
        var harness = Self.misunderstood()
        harness.head(200, Self.whole)
        harness.bytes(60)
        harness.lose()
        harness.pass(.seconds(60))
        #expect(harness.requests.last?.headers["If-Range"] == "\"v1\"")
        harness.forget()
        harness.head(200, Self.whole)
        #expect(harness.done == ["begin 100 for 3", "gate 3"])
        #expect(harness.log == ["restarted rangeIgnored 60"])
    }

    @Test
    func `rules 21 and 34: a part without a validator proves nothing if there was no condition`() {
        var harness = Self.misunderstood()
        harness.forget()
        harness.head(206, ["Content-Range": "bytes 50-99/100"])
        #expect(harness.log == ["restarted noValidator 50"])
        #expect(harness.done == ["cancel 2", "exchange 3 whole"])
    }

    @Test
    func `rule 34: a part of another object is not added to the received bytes if there was no condition`() {
        var harness = Self.misunderstood()
        harness.forget()
        harness.head(206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v2\""])
        #expect(harness.log == ["restarted contentChanged 50"])
        #expect(harness.done == ["cancel 2", "exchange 3 whole"])
    }
}
