internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, servers that do not understand If-Range", .endsWhenHung)
struct TransferConditionTests {
    private static let whole: HeaderFields = ["Content-Length": "100", "ETag": "\"v1\""]

    private static func part(from first: Int) -> HeaderFields {
        ["Content-Range": "bytes \(first)-99/100", "ETag": "\"v1\""]
    }

    /// A transfer whose condition was answered by the whole body under the same entity tag.
    private static func misunderstood() -> MachineStage {
        var stage = MachineStage.resuming()
        stage.head(200, whole)
        return stage
    }

    @Test("rule 34: the same range is asked for once more, without a condition, before bytes are given up")
    func probe() throws {
        var stage = Self.misunderstood()
        #expect(stage.done == ["cancel 1", "exchange 2 bytes=50-"])
        #expect(stage.story.isEmpty)
        let request = try #require(stage.requests.last)
        #expect(request.headers["If-Range"] == nil)
        stage.head(206, Self.part(from: 50))
        #expect(stage.bytes(50) == 50..<100)
        stage.end()
        #expect(stage.done.last == "end finished")
        #expect(stage.story == ["started 100 resumable", "resumed 50", "verifying"])
    }

    @Test("rule 34: a server that answered it is asked in that way from then on")
    func remembered() {
        var stage = Self.misunderstood()
        stage.head(206, Self.part(from: 50))
        stage.bytes(10)
        stage.lose()
        stage.pass(.seconds(60))
        #expect(stage.requests.last?.headers["Range"] == "bytes=60-")
        #expect(stage.requests.last?.headers["If-Range"] == nil)
    }

    @Test("rule 34: a second whole body is used from its first byte, and nothing is asked a third time")
    func ignored() {
        var stage = Self.misunderstood()
        stage.forget()
        stage.head(200, Self.whole)
        #expect(stage.story == ["restarted rangeIgnored 50", "started 100 resumable"])
        #expect(stage.done == ["begin 100 for 2", "gate 2"])
        #expect(stage.bytes(100) == 0..<100)
    }

    @Test("rule 34: the condition is dropped once in the life of a transfer")
    func once() {
        var stage = Self.misunderstood()
        stage.head(200, Self.whole)
        stage.bytes(60)
        stage.lose()
        stage.pass(.seconds(60))
        #expect(stage.requests.last?.headers["If-Range"] == "\"v1\"")
        stage.forget()
        stage.head(200, Self.whole)
        #expect(stage.done == ["begin 100 for 3", "gate 3"])
        #expect(stage.story == ["restarted rangeIgnored 60"])
    }

    @Test("rules 21 and 34: a part without a validator, in answer to no condition, proves nothing")
    func unproven() {
        var stage = Self.misunderstood()
        stage.forget()
        stage.head(206, ["Content-Range": "bytes 50-99/100"])
        #expect(stage.story == ["restarted noValidator 50"])
        #expect(stage.done == ["cancel 2", "exchange 3 whole"])
    }

    @Test("rule 34: a part of another object, in answer to no condition, is not put to the bytes at hand")
    func changed() {
        var stage = Self.misunderstood()
        stage.forget()
        stage.head(206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v2\""])
        #expect(stage.story == ["restarted contentChanged 50"])
        #expect(stage.done == ["cancel 2", "exchange 3 whole"])
    }
}
