internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine", .endsWhenHung)
struct TransferStateMachineTests {
    private let whole: HeaderFields = ["Content-Length": "100", "ETag": "\"v1\""]
    private let rest: HeaderFields = ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\""]

    @Test("a first download asks for a permit, the partial, the whole body, and finishes")
    func fresh() {
        var harness = StateMachineHarness()
        harness.run()
        #expect(harness.done == ["ask for a permit", "open", "exchange 1 whole"])
        harness.head(200, whole)
        #expect(harness.done.suffix(2) == ["begin 100 for 1", "gate 1"])
        #expect(harness.bytes(60) == 0..<60)
        #expect(harness.bytes(40) == 60..<100)
        harness.forget()
        harness.end()
        #expect(harness.done == ["finish 100", "release the permit", "end finished"])
        #expect(harness.machine.phase == .ended)
    }

    @Test("the subscribers hear of each step once")
    func log() {
        var harness = StateMachineHarness()
        harness.run()
        harness.head(200, whole)
        harness.bytes(100)
        harness.end()
        #expect(harness.log == ["waiting", "started 100 resumable", "verifying"])
    }

    @Test("rule 57: the last progress is told, however soon it comes after the one before")
    func lastProgress() {
        var harness = StateMachineHarness.connecting()
        harness.head(200, whole)
        harness.bytes(60)
        harness.bytes(40)
        harness.end()
        #expect(harness.told.suffix(2) == ["progress 100", "verifying"])
    }

    @Test("rules 1, 4 and 6: what is on disk is continued under its validator")
    func resume() throws {
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.run()
        let request = try #require(harness.requests.first)
        harness.forget()
        #expect(request.headers["Range"] == "bytes=50-")
        #expect(request.headers["If-Range"] == "\"v1\"")
        #expect(request.headers["Accept-Encoding"] == "identity")
        harness.head(206, rest)
        #expect(harness.log == ["started 100 resumable", "resumed 50"])
        #expect(harness.bytes(50) == 50..<100)
        harness.end()
        #expect(harness.done == ["finish 100", "release the permit", "end finished"])
    }

    @Test("what the server says of the same representation now is noted")
    func adopted() {
        var representation = Representation.sample()
        representation.finalURL = "https://old.example/file"
        var harness = StateMachineHarness.resuming(representation)
        harness.head(206, rest)
        #expect(harness.done == ["updateRepresentation"])
    }

    @Test("rule 22: a whole body in answer to a range begins again at zero, without another request")
    func restart() {
        var harness = StateMachineHarness.resuming()
        harness.head(200, ["Content-Length": "120", "ETag": "\"v2\""])
        #expect(harness.log == ["restarted contentChanged 50", "started 120 resumable"])
        #expect(harness.done == ["begin 120 for 1", "gate 1"])
        #expect(harness.bytes(120) == 0..<120)
        harness.end()
        #expect(harness.failure == nil)
        #expect(harness.requests.isEmpty)
        #expect(harness.machine.phase == .ended)
    }

    @Test("rule 12: what is complete by record is finished without a request")
    func completeByRecord() {
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(.sample(length: 50), IntervalSet(0..<50)))
        harness.run()
        #expect(harness.done == ["ask for a permit", "open", "finish 50", "release the permit", "end finished"])
        #expect(harness.requests.isEmpty)
    }

    @Test("rule 5: bytes without a validator are given up before anything is asked")
    func withoutValidator() {
        var representation = Representation.sample()
        representation.validator = nil
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(representation, IntervalSet(0..<50)))
        harness.run()
        #expect(harness.log == ["waiting", "restarted noValidator 50"])
        #expect(harness.done.last == "exchange 1 whole")
    }

    @Test("rule 28: bytes under a content coding are given up before anything is asked")
    func coded() {
        var representation = Representation.sample()
        representation.contentCoding = "gzip"
        let harness = StateMachineHarness.resuming(representation)
        #expect(harness.machine.bytes.intervals.isEmpty)
        #expect(harness.machine.exchanges.first?.request == .everything)
    }

    @Test("what was found and cannot be used is told, with its reason")
    func unusable() {
        var harness = StateMachineHarness()
        harness.finding = .success(.unusable(.checkpointCorrupt, discarded: 7))
        harness.run()
        #expect(harness.log == ["waiting", "restarted checkpointCorrupt 7"])
        #expect(harness.done.last == "exchange 1 whole")
    }

    @Test("rule 27: 412 restarts from zero once, then it is reported")
    func preconditionFailed() {
        var harness = StateMachineHarness.resuming { $0.windowLength = 40 }
        #expect(harness.machine.exchanges.first?.request.fields["If-Match"] == "\"v1\"")
        harness.head(412)
        #expect(harness.log == ["restarted contentChanged 50"])
        #expect(harness.done == ["cancel 1", "exchange 2 bytes=0-39"])
    }

    @Test(
        "rule 26: 416 completes, or restarts once",
        arguments: [
            ("bytes */50", ["cancel 1", "finish 50", "release the permit", "end finished"], []),
            ("bytes */90", ["cancel 1", "exchange 2 whole"], ["restarted contentChanged 50"]),
            ("nonsense", ["cancel 1", "exchange 2 whole"], ["restarted rangeNotSatisfiable 50"]),
        ])
    func unsatisfiable(_ contentRange: String, _ done: [String], _ log: [String]) {
        var harness = StateMachineHarness.resuming(.sample(length: nil))
        harness.head(416, ["Content-Range": contentRange])
        #expect(harness.done == done)
        #expect(harness.log.filter { $0 != "verifying" } == log)
    }

    @Test("rules 26 and 27: a server that gives cause for a second restart fails")
    func secondRestart() {
        var harness = StateMachineHarness.resuming()
        harness.head(416)
        harness.head(200, whole)
        harness.bytes(30)
        harness.lose()
        harness.pass(.seconds(60))
        harness.head(416)
        #expect(harness.failure?.code == .contentChanged)
    }

    @Test("rule 19: a shorter part is taken and the rest asked for, as often as it takes, without a retry")
    func shorterParts() {
        var harness = StateMachineHarness.resuming()
        for start in stride(from: 50, to: 100, by: 5) {
            harness.head(206, ["Content-Range": "bytes \(start)-\(start + 4)/100"])
            harness.bytes(5)
            harness.end()
            // The last of them are paced.
            harness.pass(.seconds(1))
        }
        #expect(harness.requests.count == 9)
        #expect(harness.failure == nil)
        #expect(harness.done.last == "end finished")
        #expect(!harness.log.contains { $0.hasPrefix("retrying") })
    }

    @Test("rule 15: what a part repeats of the bytes at hand is left out")
    func overlap() {
        var harness = StateMachineHarness.resuming()
        harness.head(206, ["Content-Range": "bytes 30-99/100"])
        #expect(harness.bytes(15) == 50..<50)
        #expect(harness.bytes(15) == 50..<60)
        #expect(harness.bytes(40) == 60..<100)
        harness.end()
        #expect(harness.done.last == "end finished")
    }

    @Test("rule 47: an unknown length is settled by an orderly end")
    func unknownLength() {
        var harness = StateMachineHarness.connecting()
        harness.head(200)
        harness.bytes(70)
        #expect(harness.log == ["started ?"])
        harness.end()
        #expect(harness.done.suffix(3) == ["finish 70", "release the permit", "end finished"])
    }

    @Test("rules 29 and 47: an unknown length is not settled by a lost connection")
    func unknownLengthLost() {
        var harness = StateMachineHarness.connecting()
        harness.head(200)
        harness.bytes(70)
        harness.lose()
        #expect(harness.machine.state.timer == 1)
        harness.pass(.seconds(60))
        #expect(harness.log == ["started ?", "retrying 1 connectionLost", "waiting", "restarted noValidator 70"])
    }

    @Test("rule 47: a file may be empty", arguments: [["Content-Length": "0"], [:]] as [HeaderFields])
    func empty(_ fields: HeaderFields) {
        var harness = StateMachineHarness.connecting()
        harness.head(200, fields)
        harness.end()
        #expect(harness.done.suffix(3) == ["finish 0", "release the permit", "end finished"])
    }

    @Test("an empty partial begins at once; the body is held back only where bytes have to go first")
    func beginning() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.beginning)
        harness.head(200, whole)
        #expect(harness.reply.length == 100)
        harness = StateMachineHarness.resuming(.sample(tag: "\"v0\""))
        harness.automatic.remove(.beginning)
        harness.head(200, whole)
        #expect(harness.reply == .holdBack)
        #expect(harness.done == ["begin 100 for 1"])
        harness.catchUp()
        harness.lose()
        harness.pass(.seconds(60))
        harness.automatic.remove(.beginning)
        harness.head(200, whole)
        #expect(harness.reply.length == 100)
    }

    @Test("an end that comes while the store makes room is kept until it has")
    func earlyEnd() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.beginning)
        harness.head(200, ["Content-Length": "0"])
        harness.end()
        #expect(harness.machine.phase == .preparing)
        harness.catchUp()
        #expect(harness.done == ["begin 0 for 1", "finish 0", "release the permit", "end finished"])
    }

    @Test("a store that cannot make room fails the transfer")
    func beginningFails() {
        var harness = StateMachineHarness.connecting()
        harness.beginning = .failure(DownloadError(.diskFull))
        harness.head(200, whole)
        #expect(
            harness.done == [
                "begin 100 for 1", "cancel 1", "gate 1", "close with 0", "release the permit",
                "end diskFull, 0 kept",
            ])
    }

    @Test("a write that fails fails the transfer, and what was written before is kept")
    func writingFails() {
        var harness = StateMachineHarness.receiving()
        harness.feed(harness.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        #expect(harness.done == ["cancel 1", "close with 50", "release the permit", "end diskFull, 50 kept"])
    }

    @Test("a file that cannot be placed fails the transfer")
    func finishingFails() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.finishing)
        harness.bytes(50)
        harness.end()
        #expect(harness.machine.phase == .finishing)
        harness.feed(harness.machine.finished(.failure(DownloadError(.permissionDenied)), at: .zero))
        #expect(harness.failure?.code == .permissionDenied)
    }

    @Test("a transfer of an earlier process waits, paused, to be resumed")
    func revived() {
        var harness = StateMachineHarness()
        let location = PartialLocation(
            directory: "/d", baseName: "f", request: RequestRecord(url: "u", destination: "f"))
        harness.machine.restore(
            UnfinishedPartial(location: location, representation: .sample(), received: IntervalSet(0..<50)))
        #expect(harness.machine.phase == .paused)
        #expect(harness.machine.progress.receivedByteCount == 50)
        #expect(harness.machine.progress.expectedByteCount == 100)
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.run()
        #expect(harness.done == ["ask for a permit", "open", "exchange 1 bytes=50-"])
    }
}

extension TransferStateMachine.HeadReply {
    /// The length of the representation that is to begin.
    fileprivate var length: Int64? {
        if case .start(let representation) = self { representation.length } else { nil }
    }
}
