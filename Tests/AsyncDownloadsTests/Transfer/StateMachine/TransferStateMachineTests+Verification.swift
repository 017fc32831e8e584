internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Bytes with other validators that a digest verifies (rule 35).
@Suite(.endsWhenHung)
struct TransferVerificationTests {
    private static let other: HeaderFields = ["Content-Length": "100", "ETag": "\"v2\""]
    private static let otherPart: HeaderFields = ["Content-Range": "bytes 50-99/100", "ETag": "\"v2\""]

    /// Returns a transfer with 50 of 100 bytes and an expected digest.
    private static func verifying(
        _ known: Representation = .sample(), _ change: (inout TransferSettings) -> Void = { _ in }
    ) -> StateMachineHarness {
        .resuming(known) {
            $0.checksum = .sha256(String(repeating: "0", count: 64))
            $0.contentChangePolicy = .verify
            change(&$0)
        }
    }

    /// Returns the same transfer after all bytes were received, the last 50 of them from another node.
    private static func mixed() -> StateMachineHarness {
        var harness = Self.verifying()
        harness.head(206, otherPart)
        harness.automatic.remove(.finishing)
        harness.bytes(50)
        harness.end()
        harness.forget()
        // Bytes with a wrong digest are removed.
        harness.finding = .success(.nothing)
        return harness
    }

    @Test
    func `rule 35: of another node, the whole body is not used but the remaining range is`() {
        var harness = Self.verifying()
        harness.head(200, Self.other)
        #expect(harness.done == ["cancel 1", "exchange 2 bytes=50-"])
        #expect(harness.requests.last?.headers["If-Range"] == nil)
        harness.head(206, Self.otherPart)
        #expect(harness.done.suffix(3) == ["updateRepresentation", "record 50 for 2", "gate 2"])
        #expect(harness.bytes(50) == 50..<100)
        harness.end()
        #expect(harness.done.last == "end finished")
        #expect(harness.log == ["started 100 resumable", "resumed 50", "verifying"])
    }

    @Test
    func `rule 35: a part from another node is used, even in response to a condition`() {
        var harness = Self.verifying()
        harness.head(206, Self.otherPart)
        #expect(harness.done == ["updateRepresentation", "record 50 for 1", "gate 1"])
        #expect(harness.machine.bytes.representation?.unverifiedFrom == 50)
        #expect(harness.machine.bytes.representation?.validator == Representation.sample().validator)
    }

    @Test
    func `rule 35: a segment that another node refuses, and later ones, are requested without a condition`() {
        var harness = Self.verifying { $0.windowLength = 20 }
        #expect(harness.machine.exchanges.first?.request.fields["If-Match"] == "\"v1\"")
        harness.head(412)
        #expect(harness.done == ["cancel 1", "exchange 2 bytes=50-69"])
        #expect(harness.requests.last?.headers["If-Match"] == nil)
        harness.head(206, ["Content-Range": "bytes 50-69/100", "ETag": "\"v2\""])
        harness.bytes(20)
        harness.end()
        #expect(harness.requests.last?.headers["Range"] == "bytes=70-89")
        #expect(harness.requests.last?.headers["If-Match"] == nil)
        harness.forget()
        harness.head(206, ["Content-Range": "bytes 70-89/100", "ETag": "\"v3\""])
        #expect(harness.done.isEmpty, "bytes that are already unverified are not recorded again")
        #expect(harness.bytes(20) == 70..<90)
    }

    @Test
    func `rule 35: no byte is written before the checkpoint records it as unverified`() {
        var harness = Self.verifying()
        harness.automatic.remove(.beginning)
        harness.head(206, Self.otherPart)
        #expect(harness.machine.phase == .preparing)
        #expect(harness.bytes(10) == nil)
        harness.catchUp()
        #expect(harness.bytes(10) == 50..<60)
    }

    @Test
    func `rule 35: if the checkpoint cannot be written, the transfer fails and keeps the verified bytes`() {
        var harness = Self.verifying()
        harness.beginning = .failure(DownloadError(.diskFull))
        harness.head(206, Self.otherPart)
        #expect(harness.failure?.code == .diskFull)
        #expect(harness.failure?.retainedByteCount == 50)
    }

    @Test
    func `rule 35: a wrong digest restarts the transfer once, with strict validators`() {
        var harness = Self.mixed()
        harness.finishing = .failure(DownloadError(.checksumMismatch))
        harness.catchUp()
        #expect(harness.log == ["restarted digestMismatch 100"])
        #expect(harness.done == ["open", "exchange 2 whole"])
        harness.head(200, Self.other)
        harness.bytes(50)
        harness.lose()
        harness.pass(.seconds(60))
        harness.forget()
        harness.head(200, ["Content-Length": "100", "ETag": "\"v3\""])
        #expect(harness.log == ["restarted contentChanged 50"])
        harness.bytes(100)
        harness.end()
        #expect(harness.failure?.code == .checksumMismatch)
    }

    @Test
    func `rule 35: a wrong digest of the bytes of one object is final`() {
        var harness = Self.verifying()
        harness.finishing = .failure(DownloadError(.checksumMismatch))
        harness.head(206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\""])
        harness.bytes(50)
        harness.end()
        #expect(harness.failure?.code == .checksumMismatch)
    }

    @Test(
        arguments: [
            (.pause, ["open", "close", "release the permit"]),
            (.abandon, ["open", "close", "release the permit", "end abandoned"]),
            (.discard, ["open", "discard", "release the permit", "end discarded"]),
        ] as [(TransferStateMachine.Intent, [String])])
    func `rule 35: a stop during verification takes effect if the transfer restarts`(
        _ intent: TransferStateMachine.Intent, _ done: [String]
    ) {
        var harness = Self.mixed()
        harness.finishing = .failure(DownloadError(.checksumMismatch))
        harness.stop(intent)
        harness.catchUp()
        #expect(harness.done == done)
    }

    @Test
    func `rule 35: a stop that is canceled during verification has no effect`() {
        var harness = Self.mixed()
        harness.finishing = .failure(DownloadError(.checksumMismatch))
        harness.stop(.pause)
        harness.run()
        harness.catchUp()
        #expect(harness.done == ["open", "exchange 2 whole"])
    }

    @Test
    func `rule 35: without a checksum, another validator means another object under every policy`() {
        var harness = StateMachineHarness.resuming { $0.contentChangePolicy = .verify }
        harness.head(206, Self.otherPart)
        #expect(harness.log == ["restarted contentChanged 50"])
    }

    @Test
    func `rule 35: another validator means another object by default`() {
        var harness = Self.verifying { $0.contentChangePolicy = .restart }
        harness.head(200, Self.other)
        #expect(harness.log == ["restarted contentChanged 50", "started 100 resumable"])
    }

    @Test(
        arguments: [
            (200, ["Content-Length": "101", "ETag": "\"v2\""]), (200, ["ETag": "\"v2\""]),
            (206, ["Content-Range": "bytes 50-99/101", "ETag": "\"v2\""]),
            (206, ["Content-Range": "bytes 50-99/*", "ETag": "\"v2\""]),
        ] as [(Int, HeaderFields)])
    func `rule 35: another length means another object`(_ status: Int, _ fields: HeaderFields) {
        var harness = Self.verifying()
        harness.head(status, fields)
        #expect(harness.log.first == "restarted contentChanged 50")
    }

    @Test
    func `rule 35: unverified bytes of an earlier request are rolled back if no digest is expected`() {
        var representation = Representation.sample()
        representation.unverifiedFrom = 30
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(representation, IntervalSet(0..<100)))
        harness.run()
        #expect(harness.log == ["waiting", "restarted contentChanged 70"])
        #expect(harness.done.suffix(3) == ["updateRepresentation", "roll back to 30", "exchange 1 bytes=30-"])
        #expect(harness.requests.last?.headers["If-Range"] == "\"v1\"")
    }

    @Test
    func `rule 35: unverified bytes of an earlier request are kept if the digest is expected`() {
        var representation = Representation.sample()
        representation.unverifiedFrom = 30
        let harness = Self.verifying(representation)
        #expect(harness.done.isEmpty)
        #expect(harness.machine.exchanges.first?.request.start == 50)
    }
}
