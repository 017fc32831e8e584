internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine", .endsWhenHung)
struct TransferStateMachineTests {
    private let whole: HeaderFields = ["Content-Length": "100", "ETag": "\"v1\""]
    private let rest: HeaderFields = ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\""]

    @Test("a first download asks for a permit, the partial, the whole body, and finishes")
    func fresh() {
        var stage = MachineStage()
        stage.run()
        #expect(stage.done == ["ask for a permit", "open", "exchange 1 whole"])
        stage.head(200, whole)
        #expect(stage.done.suffix(2) == ["begin 100 for 1", "gate 1"])
        #expect(stage.bytes(60) == 0..<60)
        #expect(stage.bytes(40) == 60..<100)
        stage.forget()
        stage.end()
        #expect(stage.done == ["finish 100", "release the permit", "end finished"])
        #expect(stage.machine.state == .ended)
    }

    @Test("the subscribers hear of each step once")
    func story() {
        var stage = MachineStage()
        stage.run()
        stage.head(200, whole)
        stage.bytes(100)
        stage.end()
        #expect(stage.story == ["waiting", "started 100 resumable", "verifying"])
    }

    @Test("rule 57: the last progress is told, however soon it comes after the one before")
    func lastProgress() {
        var stage = MachineStage.connecting()
        stage.head(200, whole)
        stage.bytes(60)
        stage.bytes(40)
        stage.end()
        #expect(stage.told.suffix(2) == ["progress 100", "verifying"])
    }

    @Test("rules 1, 4 and 6: what is on disk is continued under its validator")
    func resume() throws {
        var stage = MachineStage()
        stage.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        stage.run()
        let request = try #require(stage.requests.first)
        stage.forget()
        #expect(request.headers["Range"] == "bytes=50-")
        #expect(request.headers["If-Range"] == "\"v1\"")
        #expect(request.headers["Accept-Encoding"] == "identity")
        stage.head(206, rest)
        #expect(stage.story == ["started 100 resumable", "resumed 50"])
        #expect(stage.bytes(50) == 50..<100)
        stage.end()
        #expect(stage.done == ["finish 100", "release the permit", "end finished"])
    }

    @Test("what the server says of the same representation now is noted")
    func adopted() {
        var representation = Representation.sample()
        representation.finalURL = "https://old.example/file"
        var stage = MachineStage.resuming(representation)
        stage.head(206, rest)
        #expect(stage.done == ["adopt"])
    }

    @Test("rule 22: a whole body in answer to a range begins again at zero, without another request")
    func restart() {
        var stage = MachineStage.resuming()
        stage.head(200, ["Content-Length": "120", "ETag": "\"v2\""])
        #expect(stage.story == ["restarted contentChanged 50", "started 120 resumable"])
        #expect(stage.done == ["begin 120 for 1", "gate 1"])
        #expect(stage.bytes(120) == 0..<120)
        stage.end()
        #expect(stage.failure == nil)
        #expect(stage.requests.isEmpty)
        #expect(stage.machine.state == .ended)
    }

    @Test("rule 12: what is complete by record is finished without a request")
    func completeByRecord() {
        var stage = MachineStage()
        stage.finding = .success(.bytes(.sample(length: 50), IntervalSet(0..<50)))
        stage.run()
        #expect(stage.done == ["ask for a permit", "open", "finish 50", "release the permit", "end finished"])
        #expect(stage.requests.isEmpty)
    }

    @Test("rule 5: bytes without a validator are given up before anything is asked")
    func withoutValidator() {
        var representation = Representation.sample()
        representation.validator = nil
        var stage = MachineStage()
        stage.finding = .success(.bytes(representation, IntervalSet(0..<50)))
        stage.run()
        #expect(stage.story == ["waiting", "restarted noValidator 50"])
        #expect(stage.done.last == "exchange 1 whole")
    }

    @Test("rule 28: bytes under a content coding are given up before anything is asked")
    func coded() {
        var representation = Representation.sample()
        representation.contentCoding = "gzip"
        let stage = MachineStage.resuming(representation)
        #expect(stage.machine.received.isEmpty)
        #expect(stage.machine.exchange?.asked == .everything)
    }

    @Test("what was found and cannot be used is told, with its reason")
    func unusable() {
        var stage = MachineStage()
        stage.finding = .success(.unusable(.checkpointCorrupt, discarded: 7))
        stage.run()
        #expect(stage.story == ["waiting", "restarted checkpointCorrupt 7"])
        #expect(stage.done.last == "exchange 1 whole")
    }

    @Test("rule 27: 412 restarts from zero once, then it is reported")
    func preconditionFailed() {
        var stage = MachineStage.resuming { $0.windowLength = 40 }
        #expect(stage.machine.exchange?.asked.fields["If-Match"] == "\"v1\"")
        stage.head(412)
        #expect(stage.story == ["restarted contentChanged 50"])
        #expect(stage.done == ["cancel 1", "exchange 2 bytes=0-39"])
    }

    @Test(
        "rule 26: 416 completes, or restarts once",
        arguments: [
            ("bytes */50", ["cancel 1", "finish 50", "release the permit", "end finished"], []),
            ("bytes */90", ["cancel 1", "exchange 2 whole"], ["restarted contentChanged 50"]),
            ("nonsense", ["cancel 1", "exchange 2 whole"], ["restarted rangeNotSatisfiable 50"]),
        ])
    func unsatisfiable(_ contentRange: String, _ done: [String], _ story: [String]) {
        var stage = MachineStage.resuming(.sample(length: nil))
        stage.head(416, ["Content-Range": contentRange])
        #expect(stage.done == done)
        #expect(stage.story.filter { $0 != "verifying" } == story)
    }

    @Test("rules 26 and 27: a server that gives cause for a second restart fails")
    func secondRestart() {
        var stage = MachineStage.resuming()
        stage.head(416)
        stage.head(200, whole)
        stage.bytes(30)
        stage.lose()
        stage.pass(.seconds(60))
        stage.head(416)
        #expect(stage.failure?.code == .contentChanged)
    }

    @Test("rule 19: a shorter part is taken and the rest asked for, as often as it takes, without a retry")
    func shorterParts() {
        var stage = MachineStage.resuming()
        for start in stride(from: 50, to: 100, by: 5) {
            stage.head(206, ["Content-Range": "bytes \(start)-\(start + 4)/100"])
            stage.bytes(5)
            stage.end()
            // The last of them are paced.
            stage.pass(.seconds(1))
        }
        #expect(stage.requests.count == 9)
        #expect(stage.failure == nil)
        #expect(stage.done.last == "end finished")
        #expect(!stage.story.contains { $0.hasPrefix("retrying") })
    }

    @Test("rule 15: what a part repeats of the bytes at hand is left out")
    func overlap() {
        var stage = MachineStage.resuming()
        stage.head(206, ["Content-Range": "bytes 30-99/100"])
        #expect(stage.bytes(15) == 50..<50)
        #expect(stage.bytes(15) == 50..<60)
        #expect(stage.bytes(40) == 60..<100)
        stage.end()
        #expect(stage.done.last == "end finished")
    }

    @Test("rule 47: an unknown length is settled by an orderly end")
    func unknownLength() {
        var stage = MachineStage.connecting()
        stage.head(200)
        stage.bytes(70)
        #expect(stage.story == ["started ?"])
        stage.end()
        #expect(stage.done.suffix(3) == ["finish 70", "release the permit", "end finished"])
    }

    @Test("rules 29 and 47: an unknown length is not settled by a lost connection")
    func unknownLengthLost() {
        var stage = MachineStage.connecting()
        stage.head(200)
        stage.bytes(70)
        stage.lose()
        #expect(stage.machine.state == .backingOff(1))
        stage.pass(.seconds(60))
        #expect(stage.story == ["started ?", "retrying 1 connectionLost", "waiting", "restarted noValidator 70"])
    }

    @Test("rule 47: a file may be empty", arguments: [["Content-Length": "0"], [:]] as [HeaderFields])
    func empty(_ fields: HeaderFields) {
        var stage = MachineStage.connecting()
        stage.head(200, fields)
        stage.end()
        #expect(stage.done.suffix(3) == ["finish 0", "release the permit", "end finished"])
    }

    @Test("an empty partial begins at once; the body is held back only where bytes have to go first")
    func beginning() {
        var stage = MachineStage.connecting()
        stage.automatic.remove(.beginning)
        stage.head(200, whole)
        #expect(stage.machine.headReply(exchange: 1).length == 100)
        stage = MachineStage.resuming(.sample(tag: "\"v0\""))
        stage.automatic.remove(.beginning)
        stage.head(200, whole)
        #expect(stage.machine.headReply(exchange: 1) == .holdBack)
        #expect(stage.done == ["begin 100 for 1"])
        stage.catchUp()
        stage.lose()
        stage.pass(.seconds(60))
        stage.automatic.remove(.beginning)
        stage.head(200, whole)
        #expect(stage.machine.headReply(exchange: 2).length == 100)
    }

    @Test("an end that comes while the store makes room is kept until it has")
    func earlyEnd() {
        var stage = MachineStage.connecting()
        stage.automatic.remove(.beginning)
        stage.head(200, ["Content-Length": "0"])
        stage.end()
        #expect(stage.machine.isPreparing)
        stage.catchUp()
        #expect(stage.done == ["begin 0 for 1", "finish 0", "release the permit", "end finished"])
    }

    @Test("a store that cannot make room fails the transfer")
    func beginningFails() {
        var stage = MachineStage.connecting()
        stage.beginning = .failure(DownloadError(.diskFull))
        stage.head(200, whole)
        #expect(
            stage.done == [
                "begin 100 for 1", "cancel 1", "gate 1", "close with 0", "release the permit",
                "end diskFull, 0 kept",
            ])
    }

    @Test("a write that fails fails the transfer, and what was written before is kept")
    func writingFails() {
        var stage = MachineStage.receiving()
        stage.feed(stage.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        #expect(stage.done == ["cancel 1", "close with 50", "release the permit", "end diskFull, 50 kept"])
    }

    @Test("a file that cannot be placed fails the transfer")
    func finishingFails() {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.finishing)
        stage.bytes(50)
        stage.end()
        #expect(stage.machine.state == .finishing)
        stage.feed(stage.machine.finished(.failure(DownloadError(.permissionDenied)), at: .zero))
        #expect(stage.failure?.code == .permissionDenied)
    }

    @Test("a transfer of an earlier process waits, paused, to be resumed")
    func revived() {
        var stage = MachineStage()
        let site = PartialSite(directory: "/d", baseName: "f", request: RequestRecord(url: "u", destination: "f"))
        stage.machine.revive(
            UnfinishedPartial(site: site, representation: .sample(), received: IntervalSet(0..<50)))
        #expect(stage.machine.state == .paused)
        #expect(stage.machine.progress.receivedByteCount == 50)
        #expect(stage.machine.progress.expectedByteCount == 100)
        stage.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        stage.run()
        #expect(stage.done == ["ask for a permit", "open", "exchange 1 bytes=50-"])
    }
}

extension TransferStateMachine.HeadReply {
    /// The length of the representation that is to begin.
    fileprivate var length: Int64? {
        if case .begin(let representation) = self { representation.length } else { nil }
    }
}

extension TransferStateMachine {
    fileprivate var isPreparing: Bool { if case .preparing = state { true } else { false } }
}
