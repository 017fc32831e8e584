internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, what the disk refuses", .endsWhenHung)
struct TransferRefusalTests {
    @Test("descriptors that have run out are waited for like a lost connection")
    func noDescriptors() {
        var stage = MachineStage()
        stage.finding = .failure(DownloadError(.tooManyOpenFiles))
        stage.run()
        #expect(stage.story == ["waiting", "retrying 1 tooManyOpenFiles"])
        #expect(stage.done == ["ask for a permit", "open", "release the permit"])
        stage.pass(.seconds(8))
        #expect(stage.story.last == "retrying 2 tooManyOpenFiles")
        stage.finding = .success(.nothing)
        stage.forget()
        stage.pass(.seconds(16))
        #expect(stage.done == ["ask for a permit", "open", "exchange 1 whole"])
    }

    @Test("descriptors that never come back fail the transfer")
    func neverDescriptors() {
        var stage = MachineStage()
        stage.finding = .failure(DownloadError(.tooManyOpenFiles))
        stage.run()
        stage.pass(.seconds(60))
        #expect(stage.failure?.code == .tooManyOpenFiles)
        #expect(stage.requests.isEmpty)
    }

    @Test("nothing is saved while a partial cannot be opened again")
    func nothingToSave() {
        var stage = MachineStage.receiving()
        stage.stop(.pause)
        stage.finding = .failure(DownloadError(.tooManyOpenFiles))
        stage.forget()
        stage.run()
        #expect(stage.done == ["ask for a permit", "open", "release the permit"])
        stage.stop(.pause)
        #expect(stage.machine.state == .paused)
        #expect(stage.story.last == "paused 50")
    }

    @Test("a partial that cannot be made for want of descriptors is made later")
    func noPartial() {
        var stage = MachineStage.connecting()
        stage.beginning = .failure(DownloadError(.tooManyOpenFiles))
        stage.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        #expect(stage.story.last == "retrying 1 tooManyOpenFiles")
        stage.beginning = .success(())
        stage.pass(.seconds(8))
        stage.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        #expect(stage.bytes(100) == 0..<100)
        stage.end()
        #expect(stage.done.last == "end finished")
    }

    @Test("rule 56: a pause whose checkpoint is refused tells of the loss, then of what is kept")
    func pause() {
        var stage = MachineStage.receiving()
        stage.kept = IntervalSet(0..<20)
        stage.stop(.pause)
        #expect(stage.story == ["restarted checkpointNotSaved 30", "paused 20"])
        stage.finding = .success(.bytes(.sample(), IntervalSet(0..<20)))
        stage.forget()
        stage.run()
        #expect(stage.story == ["waiting"], "the loss is told once")
        #expect(stage.requests.last?.headers["Range"] == "bytes=20-")
    }

    @Test("rule 44: an error says how many bytes are kept, not how many were received")
    func failure() {
        var stage = MachineStage.receiving()
        stage.kept = IntervalSet(0..<20)
        stage.feed(stage.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        #expect(stage.failure?.code == .diskFull)
        #expect(stage.failure?.bytesKept == 20)
    }
}
