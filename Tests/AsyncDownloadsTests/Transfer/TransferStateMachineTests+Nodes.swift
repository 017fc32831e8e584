internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, other validators under a digest", .endsWhenHung)
struct TransferNodeTests {
    private static let other: HeaderFields = ["Content-Length": "100", "ETag": "\"v2\""]
    private static let otherPart: HeaderFields = ["Content-Range": "bytes 50-99/100", "ETag": "\"v2\""]

    /// A transfer with 50 of 100 bytes that a digest will prove.
    private static func verifying(
        _ known: Representation = .sample(), _ change: (inout TransferSettings) -> Void = { _ in }
    ) -> MachineStage {
        .resuming(known) {
            $0.checksum = .sha256(String(repeating: "0", count: 64))
            $0.contentChangePolicy = .verify
            change(&$0)
        }
    }

    /// The same after all bytes came, the last fifty of them from another node.
    private static func mixed() -> MachineStage {
        var stage = Self.verifying()
        stage.head(206, otherPart)
        stage.automatic.remove(.finishing)
        stage.bytes(50)
        stage.end()
        stage.forget()
        // What has the wrong digest is removed.
        stage.finding = .success(.nothing)
        return stage
    }

    @Test("rule 35: the whole body of another node is not taken, the rest of it is")
    func wholeBody() {
        var stage = Self.verifying()
        stage.head(200, Self.other)
        #expect(stage.done == ["cancel 1", "exchange 2 bytes=50-"])
        #expect(stage.requests.last?.headers["If-Range"] == nil)
        stage.head(206, Self.otherPart)
        #expect(stage.done.suffix(3) == ["adopt", "record 50 for 2", "gate 2"])
        #expect(stage.bytes(50) == 50..<100)
        stage.end()
        #expect(stage.done.last == "end finished")
        #expect(stage.story == ["started 100 resumable", "resumed 50", "verifying"])
    }

    @Test("rule 35: another node's part is taken, in answer to a condition too")
    func part() {
        var stage = Self.verifying()
        stage.head(206, Self.otherPart)
        #expect(stage.done == ["adopt", "record 50 for 1", "gate 1"])
        #expect(stage.machine.representation?.unprovenFrom == 50)
        #expect(stage.machine.representation?.validator == Representation.sample().validator)
    }

    @Test("rule 35: a window that another node refuses is asked for without a condition, and those after it")
    func windows() {
        var stage = Self.verifying { $0.windowLength = 20 }
        #expect(stage.machine.exchange?.asked.fields["If-Match"] == "\"v1\"")
        stage.head(412)
        #expect(stage.done == ["cancel 1", "exchange 2 bytes=50-69"])
        #expect(stage.requests.last?.headers["If-Match"] == nil)
        stage.head(206, ["Content-Range": "bytes 50-69/100", "ETag": "\"v2\""])
        stage.bytes(20)
        stage.end()
        #expect(stage.requests.last?.headers["Range"] == "bytes=70-89")
        #expect(stage.requests.last?.headers["If-Match"] == nil)
        stage.forget()
        stage.head(206, ["Content-Range": "bytes 70-89/100", "ETag": "\"v3\""])
        #expect(stage.done.isEmpty, "what is unproven already is not noted again")
        #expect(stage.bytes(20) == 70..<90)
    }

    @Test("rule 35: no byte is written before the record says that it is unproven")
    func heldBack() {
        var stage = Self.verifying()
        stage.automatic.remove(.beginning)
        stage.head(206, Self.otherPart)
        #expect(stage.machine.state == .preparing(.store))
        #expect(stage.bytes(10) == nil)
        stage.catchUp()
        #expect(stage.bytes(10) == 50..<60)
    }

    @Test("rule 35: where the record cannot be made to say it, the transfer fails and keeps what is proven")
    func unrecorded() {
        var stage = Self.verifying()
        stage.beginning = .failure(DownloadError(.diskFull))
        stage.head(206, Self.otherPart)
        #expect(stage.failure?.code == .diskFull)
        #expect(stage.failure?.bytesKept == 50)
    }

    @Test("rule 35: a wrong digest leads back to the first byte, strictly and once")
    func wrongDigest() {
        var stage = Self.mixed()
        stage.finishing = .failure(DownloadError(.checksumMismatch))
        stage.catchUp()
        #expect(stage.story == ["restarted digestMismatch 100"])
        #expect(stage.done == ["open", "exchange 2 whole"])
        stage.head(200, Self.other)
        stage.bytes(50)
        stage.lose()
        stage.pass(.seconds(60))
        stage.forget()
        stage.head(200, ["Content-Length": "100", "ETag": "\"v3\""])
        #expect(stage.story == ["restarted contentChanged 50"])
        stage.bytes(100)
        stage.end()
        #expect(stage.failure?.code == .checksumMismatch)
    }

    @Test("rule 35: a digest that is wrong for one object's bytes is final")
    func wrongObject() {
        var stage = Self.verifying()
        stage.finishing = .failure(DownloadError(.checksumMismatch))
        stage.head(206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\""])
        stage.bytes(50)
        stage.end()
        #expect(stage.failure?.code == .checksumMismatch)
    }

    @Test(
        "rule 35: a stop while the digest is computed is looked at when everything begins again",
        arguments: [
            (.pause, ["open", "close", "release the permit"]),
            (.park, ["open", "close", "release the permit", "end parked"]),
            (.discard, ["open", "discard", "release the permit", "end discarded"]),
        ] as [(TransferStateMachine.Wish, [String])])
    func stopWhileVerifying(_ wish: TransferStateMachine.Wish, _ done: [String]) {
        var stage = Self.mixed()
        stage.finishing = .failure(DownloadError(.checksumMismatch))
        stage.stop(wish)
        stage.catchUp()
        #expect(stage.done == done)
    }

    @Test("rule 35: a stop that is taken back while the digest is computed changes nothing")
    func takenBackWhileVerifying() {
        var stage = Self.mixed()
        stage.finishing = .failure(DownloadError(.checksumMismatch))
        stage.stop(.pause)
        stage.run()
        stage.catchUp()
        #expect(stage.done == ["open", "exchange 2 whole"])
    }

    @Test("rule 35: without a checksum another validator is another object, whatever the policy")
    func withoutChecksum() {
        var stage = MachineStage.resuming { $0.contentChangePolicy = .verify }
        stage.head(206, Self.otherPart)
        #expect(stage.story == ["restarted contentChanged 50"])
    }

    @Test("rule 35: another validator is another object where nobody has said otherwise")
    func strict() {
        var stage = Self.verifying { $0.contentChangePolicy = .restart }
        stage.head(200, Self.other)
        #expect(stage.story == ["restarted contentChanged 50", "started 100 resumable"])
    }

    @Test(
        "rule 35: another length is another object",
        arguments: [
            (200, ["Content-Length": "101", "ETag": "\"v2\""]), (200, ["ETag": "\"v2\""]),
            (206, ["Content-Range": "bytes 50-99/101", "ETag": "\"v2\""]),
            (206, ["Content-Range": "bytes 50-99/*", "ETag": "\"v2\""]),
        ] as [(Int, HeaderFields)])
    func otherLength(_ status: Int, _ fields: HeaderFields) {
        var stage = Self.verifying()
        stage.head(status, fields)
        #expect(stage.story.first == "restarted contentChanged 50")
    }

    @Test("rule 35: unproven bytes of an earlier request are taken back where no digest is expected now")
    func unprovenOnDisk() {
        var representation = Representation.sample()
        representation.unprovenFrom = 30
        var stage = MachineStage()
        stage.finding = .success(.bytes(representation, IntervalSet(0..<100)))
        stage.run()
        #expect(stage.story == ["waiting", "restarted contentChanged 70"])
        #expect(stage.done.suffix(3) == ["adopt", "retract to 30", "exchange 1 bytes=30-"])
        #expect(stage.requests.last?.headers["If-Range"] == "\"v1\"")
    }

    @Test("rule 35: unproven bytes of an earlier request count where the digest is expected")
    func unprovenOnDiskUnderDigest() {
        var representation = Representation.sample()
        representation.unprovenFrom = 30
        let stage = Self.verifying(representation)
        #expect(stage.done.isEmpty)
        #expect(stage.machine.exchange?.asked.start == 50)
    }
}
