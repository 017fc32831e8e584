internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, time and limits", .endsWhenHung)
struct TransferTimeTests {
    @Test("rule 59: a stalled exchange is replaced, a slow one is not")
    func idle() {
        var stage = MachineStage.receiving { $0.idleTimeout = .seconds(4) }
        for _ in 0..<10 {
            stage.pass(.seconds(3))
            stage.bytes(1)
        }
        #expect(stage.story.isEmpty)
        stage.pass(.seconds(5))
        #expect(stage.story == ["retrying 1 timedOut"])
        #expect(stage.done.contains("cancel 1"))
    }

    @Test("rule 59: a server that never answers is given up, too")
    func silent() {
        var stage = MachineStage.connecting { $0.idleTimeout = .seconds(4) }
        stage.pass(.seconds(5))
        #expect(stage.story == ["retrying 1 timedOut"])
    }

    @Test("rule 59: the time that the disk takes is not the server's")
    func slowDisk() {
        var stage = MachineStage.receiving { $0.idleTimeout = .seconds(4) }
        guard case .write = stage.machine.bytesArrived(10, exchange: 1, at: stage.now) else {
            Issue.record("nothing to write")
            return
        }
        stage.pass(.seconds(20))
        #expect(stage.story.isEmpty)
        stage.feed(stage.machine.wrote(10, at: 50, exchange: 1, at: stage.now))
        stage.pass(.seconds(3))
        #expect(stage.story.isEmpty)
        stage.pass(.seconds(3))
        #expect(stage.story == ["retrying 1 timedOut"])
    }

    @Test("a body that is held back while the store makes room is not idle")
    func preparing() {
        var stage = MachineStage.connecting { $0.idleTimeout = .seconds(4) }
        stage.automatic.remove(.beginning)
        stage.head(200, ["Content-Length": "100"])
        stage.pass(.seconds(60))
        stage.catchUp()
        #expect(stage.machine.state == .receiving)
        #expect(stage.failure == nil)
    }

    @Test("a body that is left to run out, and does not, is cut off")
    func draining() {
        var stage = MachineStage.connecting { $0.idleTimeout = .seconds(4) }
        stage.head(404, ["Content-Length": "9"])
        #expect(stage.done.isEmpty)
        stage.pass(.seconds(5))
        #expect(stage.failure?.code == .httpStatus)
    }

    @Test("rule 59: an exchange that the engine does not end is left behind, and nothing of it counts")
    func abandoned() {
        var stage = MachineStage.receiving { $0.idleTimeout = .seconds(4) }
        stage.automatic.remove(.cancelling)
        stage.pass(.seconds(5))
        #expect(stage.story.isEmpty, "its end is awaited")
        stage.pass(.seconds(5))
        #expect(stage.done.contains("abandon 1"))
        #expect(stage.story == ["retrying 1 timedOut"])
        #expect(stage.machine.bytesArrived(10, exchange: 1, at: stage.now) == .ignore)
    }

    @Test("rule 55: an exchange whose bytes are being written is not left behind")
    func writing() {
        var stage = MachineStage.receiving { $0.idleTimeout = .seconds(4) }
        stage.automatic.remove(.cancelling)
        guard case .write = stage.machine.bytesArrived(10, exchange: 1, at: stage.now) else {
            Issue.record("nothing to write")
            return
        }
        stage.stop(.pause)
        stage.pass(.seconds(60))
        #expect(!stage.done.contains("abandon 1"))
        stage.feed(stage.machine.wrote(10, at: 50, exchange: 1, at: stage.now))
        stage.pass(.seconds(5))
        #expect(stage.done.contains("abandon 1"))
        #expect(stage.machine.state == .paused)
        #expect(stage.machine.received.count == 60)
    }

    @Test("a stall is told as a speed that falls")
    func stall() throws {
        var stage = MachineStage.receiving { $0.idleTimeout = nil }
        stage.bytes(20)
        stage.pass(.seconds(2))
        let early = try #require(stage.machine.progress.bytesPerSecond)
        stage.pass(.seconds(30))
        let late = try #require(stage.machine.progress.bytesPerSecond)
        #expect(late < early / 100)
    }

    @Test("a body that claims to be longer than allowed is not begun")
    func claimedLength() {
        var stage = MachineStage.connecting { $0.maximumByteCount = 99 }
        stage.head(200, ["Content-Length": "100"])
        #expect(stage.failure?.code == .bodyTooLarge)
        #expect(!stage.done.contains { $0.hasPrefix("begin") })
        stage = MachineStage.resuming { $0.maximumByteCount = 99 }
        stage.head(206, ["Content-Range": "bytes 50-99/100"])
        #expect(stage.failure?.code == .bodyTooLarge)
    }

    @Test("a body of unknown length is cut off at the limit")
    func unknownLength() {
        var stage = MachineStage.connecting { $0.maximumByteCount = 60 }
        stage.head(200)
        #expect(stage.bytes(60) == 0..<60)
        #expect(stage.failure == nil)
        #expect(stage.bytes(1) == 60..<60)
        #expect(stage.failure?.code == .bodyTooLarge)
    }

    @Test("a body of exactly the limit is taken")
    func exactLength() {
        var stage = MachineStage.receiving { $0.maximumByteCount = 100 }
        stage.bytes(50)
        stage.end()
        #expect(stage.done.last == "end finished")
    }

    @Test("what is complete by record is held to the limit as well")
    func recordedLength() {
        var stage = MachineStage { $0.maximumByteCount = 49 }
        stage.finding = .success(.bytes(.sample(length: 50), IntervalSet(0..<50)))
        stage.run()
        #expect(stage.failure?.code == .bodyTooLarge)
    }
}
