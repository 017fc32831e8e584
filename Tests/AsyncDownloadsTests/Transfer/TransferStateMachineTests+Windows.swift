internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, in windows", .endsWhenHung)
struct WindowTests {
    private static func stage() -> MachineStage { .connecting { $0.windowLength = 40 } }

    private static func part(_ first: Int, _ last: Int, of length: String = "100") -> HeaderFields {
        ["Content-Range": "bytes \(first)-\(last)/\(length)", "ETag": "\"v1\""]
    }

    private static func deliver(_ first: Int, _ last: Int, of length: String = "100", to stage: inout MachineStage) {
        stage.head(206, part(first, last, of: length))
        stage.bytes(last - first + 1)
        stage.end()
    }

    @Test("rule 8: one window follows another under If-Match, and that is no resumption")
    func sequence() {
        var stage = Self.stage()
        Self.deliver(0, 39, to: &stage)
        #expect(stage.done == ["begin 100 for 1", "gate 1", "exchange 2 bytes=40-79"])
        #expect(stage.requests.last?.headers["If-Match"] == "\"v1\"")
        #expect(stage.requests.last?.headers["If-Range"] == nil)
        Self.deliver(40, 79, to: &stage)
        Self.deliver(80, 99, to: &stage)
        #expect(stage.story == ["started 100 resumable", "verifying"])
        #expect(
            stage.done.suffix(4) == ["exchange 3 bytes=80-119", "finish 100", "release the permit", "end finished"])
    }

    @Test("what is on disk is resumed by a window, and that is told once")
    func resumption() {
        var stage = MachineStage.resuming { $0.windowLength = 40 }
        #expect(stage.machine.exchange?.asked.fields["Range"] == "bytes=50-89")
        Self.deliver(50, 89, to: &stage)
        Self.deliver(90, 99, to: &stage)
        #expect(stage.story == ["started 100 resumable", "resumed 50", "verifying"])
    }

    @Test("a window after a failure is a resumption")
    func afterFailure() {
        var stage = Self.stage()
        Self.deliver(0, 39, to: &stage)
        stage.lose()
        stage.pass(.seconds(60))
        Self.deliver(40, 79, to: &stage)
        #expect(stage.story.contains("resumed 40"))
    }

    @Test("a whole body in answer to the first window is taken")
    func wholeBody() {
        var stage = Self.stage()
        stage.head(200, ["Content-Length": "100"])
        #expect(stage.bytes(100) == 0..<100)
        stage.end()
        #expect(stage.done.last == "end finished")
        #expect(stage.requests.isEmpty)
    }

    @Test("rule 23: a whole body in answer to a later window is cut off, and the rest asked for in one stream")
    func fallback() {
        var stage = Self.stage()
        Self.deliver(0, 39, to: &stage)
        stage.forget()
        stage.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        #expect(stage.done == ["cancel 2", "exchange 3 bytes=40-"])
        #expect(stage.requests.last?.headers["If-Range"] == "\"v1\"")
        #expect(stage.story.isEmpty)
        stage.head(206, Self.part(40, 99))
        stage.bytes(60)
        stage.end()
        #expect(stage.done.last == "end finished")
    }

    @Test("an empty file has no window")
    func empty() {
        var stage = Self.stage()
        stage.head(416, ["Content-Range": "bytes */0"])
        #expect(stage.done == ["cancel 1", "exchange 2 whole"])
        stage.head(200, ["Content-Length": "0"])
        stage.end()
        #expect(stage.done.last == "end finished")
    }

    @Test("rule 21: windows without a validator are not put together")
    func withoutValidator() {
        var stage = Self.stage()
        stage.head(206, ["Content-Range": "bytes 0-39/100"])
        #expect(stage.done == ["cancel 1", "exchange 2 whole"])
    }

    @Test("rule 47: windows of an unknown length go on until the server says where it ends")
    func unknownLength() {
        var stage = Self.stage()
        Self.deliver(0, 39, of: "*", to: &stage)
        Self.deliver(40, 59, of: "*", to: &stage)
        #expect(stage.requests.last?.headers["Range"] == "bytes=60-99")
        stage.head(416, ["Content-Range": "bytes */60"])
        #expect(stage.done.suffix(3) == ["finish 60", "release the permit", "end finished"])
    }

    @Test("rule 27: an object that changes under the windows is asked for in one stream at last, then given up")
    func changing() {
        var stage = Self.stage()
        Self.deliver(0, 39, to: &stage)
        stage.head(412)
        #expect(stage.done.last == "exchange 3 bytes=0-39")
        Self.deliver(0, 39, to: &stage)
        stage.head(412)
        #expect(stage.done.last == "exchange 5 whole")
        #expect(stage.story.filter { $0 == "restarted contentChanged 40" }.count == 2)
        stage.head(200, ["Content-Length": "100", "ETag": "\"v3\""])
        stage.bytes(10)
        stage.lose()
        stage.pass(.seconds(60))
        stage.head(416)
        #expect(stage.failure?.code == .contentChanged)
    }

    @Test("rule 14: one bad part is tried again; after two the file is asked for whole")
    func rangeFaults() {
        var stage = Self.stage()
        Self.deliver(0, 39, to: &stage)
        stage.head(206)
        #expect(stage.story.last == "retrying 1 malformedResponse")
        stage.pass(.seconds(60))
        #expect(stage.machine.exchange?.asked.fields["Range"] == "bytes=40-79")
        stage.head(206)
        #expect(stage.story.last == "restarted invalidPartialResponse 40")
        #expect(stage.done.last == "exchange 4 whole")
    }

    @Test("a good part makes a bad one forgotten")
    func faultForgotten() {
        var stage = Self.stage()
        Self.deliver(0, 39, to: &stage)
        stage.head(206)
        stage.pass(.seconds(60))
        Self.deliver(40, 79, to: &stage)
        stage.head(206)
        #expect(stage.story.last?.hasPrefix("retrying") == true)
    }

    @Test("bad answers to the first window are no reason to give up windows at once, nor to lose anything")
    func firstWindowFaults() {
        var stage = Self.stage()
        stage.head(206)
        stage.pass(.seconds(60))
        #expect(stage.machine.exchange?.asked.fields["Range"] == "bytes=0-39")
        stage.head(206)
        #expect(stage.done.last == "exchange 3 whole")
        #expect(!stage.story.contains { $0.hasPrefix("restarted") })
    }
}
