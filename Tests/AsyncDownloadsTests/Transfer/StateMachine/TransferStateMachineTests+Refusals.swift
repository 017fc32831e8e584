internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Failures of the disk, and refused permits.
@Suite(.endsWhenHung)
struct TransferRefusalTests {
    @Test
    func `a lack of descriptors is retried like a lost connection`() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.tooManyOpenFiles))
        harness.run()
        #expect(harness.log == ["waiting", "retrying 1 tooManyOpenFiles"])
        #expect(harness.done == ["request a permit", "open", "release the permit"])
        harness.pass(.seconds(8))
        #expect(harness.log.last == "retrying 2 tooManyOpenFiles")
        harness.finding = .success(.nothing)
        harness.forget()
        harness.pass(.seconds(16))
        #expect(harness.done == ["request a permit", "open", "exchange 1 whole"])
    }

    @Test
    func `existing files end a waiting transfer only if its present permit was refused`() {
        var harness = StateMachineHarness()
        _ = harness.machine.run(at: harness.now)
        guard case .waiting(let first, _) = harness.machine.state else {
            Issue.record("no permit was requested")
            return
        }
        #expect(harness.machine.mayReuse(refused: first) && !harness.machine.mayReuse())
        _ = harness.machine.stop(.pause, at: harness.now)
        #expect(!harness.machine.mayReuse(refused: first))
        _ = harness.machine.run(at: harness.now)
        guard case .waiting(let second, _) = harness.machine.state else {
            Issue.record("no permit was requested again")
            return
        }
        #expect(!harness.machine.mayReuse(refused: first) && harness.machine.mayReuse(refused: second))
        _ = harness.machine.permitGranted(second, at: harness.now)
        #expect(!harness.machine.mayReuse(refused: second) && harness.machine.mayReuse())
    }

    @Test
    func `a permanent lack of descriptors fails the transfer`() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.tooManyOpenFiles))
        harness.run()
        harness.pass(.seconds(60))
        #expect(harness.failure?.code == .tooManyOpenFiles)
        #expect(harness.requests.isEmpty)
    }

    @Test
    func `nothing is saved while a partial file cannot be reopened`() {
        var harness = StateMachineHarness.receiving()
        harness.stop(.pause)
        harness.finding = .failure(DownloadError(.tooManyOpenFiles))
        harness.forget()
        harness.run()
        #expect(harness.done == ["request a permit", "open", "release the permit"])
        harness.stop(.pause)
        #expect(harness.machine.phase == .paused)
        #expect(harness.log.last == "paused 50")
    }

    @Test
    func `a partial file that cannot be created for lack of descriptors is created later`() {
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

    @Test
    func `rule 56: a pause whose checkpoint fails emits a restart, then the retained byte count`() {
        var harness = StateMachineHarness.receiving()
        harness.kept = IntervalSet(0..<20)
        harness.stop(.pause)
        #expect(harness.log == ["restarted checkpointNotSaved 30", "paused 20"])
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<20)))
        harness.forget()
        harness.run()
        #expect(harness.log == ["waiting"], "the restart is emitted once")
        #expect(harness.requests.last?.headers["Range"] == "bytes=20-")
    }

    @Test
    func `a write without a free descriptor is attempted again, and earlier bytes are kept`() {
        var harness = StateMachineHarness.receiving()
        harness.feed(harness.machine.writeFailed(DownloadError(.tooManyOpenFiles), exchange: 1, at: .zero))
        #expect(harness.failure == nil)
        #expect(harness.log.last == "retrying 1 tooManyOpenFiles")
        #expect(harness.machine.bytes.count == 50)
    }

    @Test
    func `rule 44: an error has the number of retained bytes, not of received bytes`() {
        var harness = StateMachineHarness.receiving()
        harness.kept = IntervalSet(0..<20)
        harness.feed(harness.machine.writeFailed(DownloadError(.diskFull), exchange: 1, at: .zero))
        #expect(harness.failure?.code == .diskFull)
        #expect(harness.failure?.retainedByteCount == 20)
    }
}
