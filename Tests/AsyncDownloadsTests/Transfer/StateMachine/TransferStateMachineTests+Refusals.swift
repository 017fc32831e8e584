internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, what the disk refuses", .endsWhenHung)
struct TransferRefusalTests {
    @Test("descriptors that have run out are waited for like a lost connection")
    func noDescriptors() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.tooManyOpenFiles))
        harness.run()
        #expect(harness.log == ["waiting", "retrying 1 tooManyOpenFiles"])
        #expect(harness.done == ["ask for a permit", "open", "release the permit"])
        harness.pass(.seconds(8))
        #expect(harness.log.last == "retrying 2 tooManyOpenFiles")
        harness.finding = .success(.nothing)
        harness.forget()
        harness.pass(.seconds(16))
        #expect(harness.done == ["ask for a permit", "open", "exchange 1 whole"])
    }

    @Test("descriptors that never come back fail the transfer")
    func neverDescriptors() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.tooManyOpenFiles))
        harness.run()
        harness.pass(.seconds(60))
        #expect(harness.failure?.code == .tooManyOpenFiles)
        #expect(harness.requests.isEmpty)
    }

    @Test("nothing is saved while a partial cannot be opened again")
    func nothingToSave() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.finding = .failure(DownloadError(.tooManyOpenFiles))
        harness.forget()
        harness.run()
        #expect(harness.done == ["ask for a permit", "open", "release the permit"])
        harness.stop(.pause)
        #expect(harness.machine.phase == .paused)
        #expect(harness.log.last == "paused 50")
    }

    @Test("a partial that cannot be made for want of descriptors is made later")
    func noPartial() {
        var harness = StateMachineHarness.connecting()
        harness.beginning = .failure(DownloadError(.tooManyOpenFiles))
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        #expect(harness.log.last == "retrying 1 tooManyOpenFiles")
        harness.beginning = .success(())
        harness.pass(.seconds(8))
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        #expect(harness.bytes(100) == 0..<100)
        harness.end()
        #expect(harness.done.last == "end finished")
    }

    @Test("rule 56: a pause whose checkpoint is refused tells of the loss, then of what is kept")
    func pause() {
        var harness = StateMachineHarness.receiving()
        harness.kept = IntervalSet(0..<20)
        harness.stop(.pause)
        #expect(harness.log == ["restarted checkpointNotSaved 30", "paused 20"])
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<20)))
        harness.forget()
        harness.run()
        #expect(harness.log == ["waiting"], "the loss is told once")
        #expect(harness.requests.last?.headers["Range"] == "bytes=20-")
    }

    @Test("rule 44: an error says how many bytes are kept, not how many were received")
    func failure() {
        var harness = StateMachineHarness.receiving()
        harness.kept = IntervalSet(0..<20)
        harness.feed(harness.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        #expect(harness.failure?.code == .diskFull)
        #expect(harness.failure?.retainedByteCount == 20)
    }
}
