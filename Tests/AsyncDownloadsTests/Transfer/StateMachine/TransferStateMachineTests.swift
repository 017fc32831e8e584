internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The basic course of a transfer: requests, continuation, restarts, and completion.
@Suite(.endsWhenHung)
struct TransferStateMachineTests {
    private let whole: HeaderFields = ["Content-Length": "100", "ETag": "\"v1\""]
    private let rest: HeaderFields = ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\""]

    @Test
    func `a new download requests a permit, opens the partial file, requests the whole body, and finishes`() {
        var harness = StateMachineHarness()
        harness.run()
        #expect(harness.done == ["request a permit", "open", "exchange 1 whole"])
        harness.head(200, whole)
        #expect(harness.done.suffix(2) == ["begin 100 for 1", "gate 1"])
        #expect(harness.bytes(60) == 0..<60)
        #expect(harness.bytes(40) == 60..<100)
        harness.forget()
        harness.end()
        #expect(harness.done == ["finish 100", "release the permit", "end finished"])
        #expect(harness.machine.phase == .ended)
    }

    @Test
    func `the subscribers receive each event once`() {
        var harness = StateMachineHarness()
        harness.run()
        harness.head(200, whole)
        harness.bytes(100)
        harness.end()
        #expect(harness.log == ["waiting", "started 100 resumable", "verifying"])
    }

    @Test
    func `rule 57: the last progress is emitted, however soon it follows the previous one`() {
        var harness = StateMachineHarness.connecting()
        harness.head(200, whole)
        harness.bytes(60)
        harness.bytes(40)
        harness.end()
        #expect(harness.emitted.suffix(2) == ["progress 100", "verifying"])
    }

    @Test
    func `rules 1, 4 and 6: bytes on disk are continued under their validator`() throws {
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

    @Test
    func `newer metadata of the same representation is recorded`() {
        var representation = Representation.sample()
        representation.finalURL = "https://old.example/file"
        var harness = StateMachineHarness.resuming(representation)
        harness.head(206, rest)
        #expect(harness.done == ["updateRepresentation"])
    }

    @Test
    func `rule 22: a whole body in response to a range restarts at zero without another request`() {
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

    @Test
    func `rule 12: a file that is complete on disk is finished without a request`() {
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(.sample(length: 50), IntervalSet(0..<50)))
        harness.run()
        #expect(harness.done == ["request a permit", "open", "finish 50", "release the permit", "end finished"])
        #expect(harness.requests.isEmpty)
    }

    @Test
    func `rule 5: bytes without a validator are discarded before any request`() {
        var representation = Representation.sample()
        representation.validator = nil
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(representation, IntervalSet(0..<50)))
        harness.run()
        #expect(harness.log == ["waiting", "restarted noValidator 50"])
        #expect(harness.done.last == "exchange 1 whole")
    }

    @Test
    func `rule 28: bytes with a content coding are discarded before any request`() {
        var representation = Representation.sample()
        representation.contentCoding = "gzip"
        let harness = StateMachineHarness.resuming(representation)
        #expect(harness.machine.bytes.intervals.isEmpty)
        #expect(harness.machine.exchanges.first?.request == .everything)
    }

    @Test
    func `unusable bytes on disk are emitted as a restart with its reason`() {
        var harness = StateMachineHarness()
        harness.finding = .success(.unusable(.checkpointCorrupt, discarded: 7))
        harness.run()
        #expect(harness.log == ["waiting", "restarted checkpointCorrupt 7"])
        #expect(harness.done.last == "exchange 1 whole")
    }

    @Test
    func `rule 27: 412 restarts from zero once, then it is an error`() {
        var harness = StateMachineHarness.resuming { $0.windowLength = 40 }
        #expect(harness.machine.exchanges.first?.request.fields["If-Match"] == "\"v1\"")
        harness.head(412)
        #expect(harness.log == ["restarted contentChanged 50"])
        #expect(harness.done == ["cancel 1", "exchange 2 bytes=0-39"])
    }

    @Test(arguments: [
        ("bytes */50", ["cancel 1", "finish 50", "release the permit", "end finished"], []),
        ("bytes */90", ["cancel 1", "exchange 2 whole"], ["restarted contentChanged 50"]),
        ("nonsense", ["cancel 1", "exchange 2 whole"], ["restarted rangeNotSatisfiable 50"]),
    ])
    func `rule 26: 416 completes, or restarts once`(_ contentRange: String, _ done: [String], _ log: [String]) {
        var harness = StateMachineHarness.resuming(.sample(length: nil))
        harness.head(416, ["Content-Range": contentRange])
        #expect(harness.done == done)
        #expect(harness.log.filter { $0 != "verifying" } == log)
    }

    @Test
    func `rules 26 and 27: a second restart fails the transfer`() {
        var harness = StateMachineHarness.resuming()
        harness.head(416)
        harness.head(200, whole)
        harness.bytes(30)
        harness.lose()
        harness.pass(.seconds(60))
        harness.head(416)
        #expect(harness.failure?.code == .contentChanged)
    }

    @Test
    func `rule 19: a shorter part is used, and the rest is requested without a retry, any number of times`() {
        var harness = StateMachineHarness.resuming()
        for start in stride(from: 50, to: 100, by: 5) {
            harness.head(206, ["Content-Range": "bytes \(start)-\(start + 4)/100"])
            harness.bytes(5)
            harness.end()
            // The last of these parts are paced.
            harness.pass(.seconds(1))
        }
        #expect(harness.requests.count == 9)
        #expect(harness.failure == nil)
        #expect(harness.done.last == "end finished")
        #expect(!harness.log.contains { $0.hasPrefix("retrying") })
    }

    @Test
    func `rule 15: bytes that a part repeats are skipped`() {
        var harness = StateMachineHarness.resuming()
        harness.head(206, ["Content-Range": "bytes 30-99/100"])
        #expect(harness.bytes(15) == 50..<50)
        #expect(harness.bytes(15) == 50..<60)
        #expect(harness.bytes(40) == 60..<100)
        harness.end()
        #expect(harness.done.last == "end finished")
    }

    @Test
    func `rule 47: an orderly end determines an unknown length`() {
        var harness = StateMachineHarness.connecting()
        harness.head(200)
        harness.bytes(70)
        #expect(harness.log == ["started ?"])
        harness.end()
        #expect(harness.done.suffix(3) == ["finish 70", "release the permit", "end finished"])
    }

    @Test
    func `rules 29 and 47: a lost connection does not determine an unknown length`() {
        var harness = StateMachineHarness.connecting()
        harness.head(200)
        harness.bytes(70)
        harness.lose()
        #expect(harness.machine.timer == 1)
        harness.pass(.seconds(60))
        #expect(harness.log == ["started ?", "retrying 1 connectionLost", "waiting", "restarted noValidator 70"])
    }

    @Test(arguments: [["Content-Length": "0"], [:]] as [HeaderFields])
    func `rule 47: a file can be empty`(_ fields: HeaderFields) {
        var harness = StateMachineHarness.connecting()
        harness.head(200, fields)
        harness.end()
        #expect(harness.done.suffix(3) == ["finish 0", "release the permit", "end finished"])
    }

    @Test
    func `the body is held back only if bytes have to be removed first`() {
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

    @Test
    func `an end that arrives while the store prepares is held until the store has finished`() {
        var harness = StateMachineHarness.connecting()
        harness.automatic.remove(.beginning)
        harness.head(200, ["Content-Length": "0"])
        harness.end()
        #expect(harness.machine.phase == .preparing)
        harness.catchUp()
        #expect(harness.done == ["begin 0 for 1", "finish 0", "release the permit", "end finished"])
    }

    @Test
    func `a store that cannot prepare the partial file fails the transfer`() {
        var harness = StateMachineHarness.connecting()
        harness.beginning = .failure(DownloadError(.diskFull))
        harness.head(200, whole)
        #expect(
            harness.done == [
                "begin 100 for 1", "cancel 1", "gate 1", "close with 0", "release the permit",
                "end diskFull, 0 kept",
            ])
    }

    @Test
    func `a failed write fails the transfer, and earlier bytes are kept`() {
        var harness = StateMachineHarness.receiving()
        harness.feed(harness.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        #expect(harness.done == ["cancel 1", "close with 50", "release the permit", "end diskFull, 50 kept"])
    }

    @Test
    func `a file that cannot be placed fails the transfer`() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.finishing)
        harness.bytes(50)
        harness.end()
        #expect(harness.machine.phase == .finishing)
        harness.feed(harness.machine.finished(.failure(DownloadError(.permissionDenied)), at: .zero))
        #expect(harness.failure?.code == .permissionDenied)
    }

    @Test
    func `a transfer of an earlier process is paused until it is resumed`() {
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
        #expect(harness.done == ["request a permit", "open", "exchange 1 bytes=50-"])
    }
}

extension TransferStateMachine.HeadReply {
    /// The length of the representation that is to start.
    fileprivate var length: Int64? {
        if case .start(let representation) = self { representation.length } else { nil }
    }
}
