internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, failures that may pass", .endsWhenHung)
struct TransferRetryTests {
    @Test("rule 36: a lost connection is retried from where it broke, without a permit meanwhile")
    func lost() {
        var stage = MachineStage.receiving()
        stage.lose()
        #expect(stage.done == ["save 50", "release the permit"])
        #expect(stage.story == ["retrying 1 connectionLost"])
        stage.forget()
        stage.pass(.seconds(8))
        #expect(stage.done == ["ask for a permit", "exchange 2 bytes=50-"])
        #expect(stage.story.isEmpty)
        stage.head(206, ["Content-Range": "bytes 50-99/100"])
        #expect(stage.story == ["resumed 50"])
    }

    @Test("rules 20 and 29: a body that ends in order but short is a failure like a lost connection")
    func truncated() {
        var stage = MachineStage.receiving()
        stage.end(.complete)
        #expect(stage.story == ["retrying 1 connectionLost"])
    }

    @Test("an exchange that ends without a head is a failure like a lost connection")
    func headless() {
        var stage = MachineStage.connecting()
        stage.end(.complete)
        #expect(stage.story == ["retrying 1 connectionLost"])
    }

    @Test(
        "a failure that will not pass is final", arguments: [DownloadError.Code.secureConnectionFailed, .unsupported])
    func final(_ code: DownloadError.Code) {
        var stage = MachineStage.receiving()
        stage.end(.failed(DownloadError(code)))
        #expect(stage.done == ["release the permit", "close with 50", "end \(code), 50 kept"])
    }

    @Test("the retries are counted, and the last failure is the one that is reported")
    func exhausted() {
        var stage = MachineStage.connecting()
        for _ in 0..<3 {
            stage.lose()
            stage.pass(.seconds(60))
        }
        #expect(stage.story == ["retrying 1 connectionLost", "retrying 2 connectionLost"])
        #expect(stage.failure?.code == .connectionLost)
        #expect(stage.failure?.isRetryable == true)
    }

    @Test("rule 37: an attempt that brings new bytes gives the retries back")
    func budget() {
        var stage = MachineStage.resuming { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        for start in stride(from: 50, to: 90, by: 10) {
            stage.head(206, ["Content-Range": "bytes \(start)-99/100"])
            stage.bytes(10)
            stage.lose()
            stage.pass(.seconds(60))
        }
        #expect(stage.failure == nil)
        #expect(Set(stage.story.filter { $0.hasPrefix("retrying") }) == ["retrying 1 connectionLost"])
        stage.lose()
        #expect(stage.failure?.code == .connectionLost)
    }

    @Test("rule 37: the same bytes once more do not give the retries back")
    func noNewBytes() {
        var stage = MachineStage.connecting { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        for _ in 0..<3 where stage.failure == nil {
            stage.head(200, ["Content-Length": "100"])
            stage.bytes(30)
            stage.lose()
            stage.pass(.seconds(60))
        }
        #expect(stage.failure?.code == .connectionLost)
        #expect(stage.machine.meter.fetched == 60)
    }

    @Test("rule 37: bytes that were there before this run are no news")
    func oldBytes() {
        var stage = MachineStage.resuming { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        for _ in 0..<2 {
            stage.head(206, ["Content-Range": "bytes 50-99/100"])
            stage.lose()
            stage.pass(.seconds(60))
        }
        #expect(stage.failure?.code == .connectionLost)
        #expect(stage.failure?.bytesKept == 50)
    }

    @Test(
        "rule 37: Retry-After is waited for, up to the policy's limit",
        arguments: [("30", 30), ("600", 600), ("86400", 600)])
    func retryAfter(_ value: String, _ seconds: Int64) {
        var stage = MachineStage.connecting()
        stage.head(503, ["Retry-After": value])
        #expect(stage.delay == .seconds(seconds))
    }

    @Test("rule 37: without Retry-After the delay is drawn from zero to the policy's bound")
    func drawn() throws {
        for seed in 0..<50 as Range<UInt64> {
            let settings = TransferSettings(url: .sample("https://a.example/"))
            var stage = MachineStage()
            stage.machine = TransferStateMachine(settings: settings, seed: seed)
            stage.run()
            for bound in [1, 2, 4, 8, 16] {
                stage.lose()
                let delay = try #require(stage.delay)
                #expect(delay >= .zero && delay <= .seconds(bound))
                stage.pass(delay)
            }
        }
    }

    @Test("rule 37: a delay that passes the deadline is not waited for")
    func deadline() {
        var stage = MachineStage.connecting { $0.deadline = .seconds(20) }
        stage.head(503, ["Retry-After": "20"])
        #expect(stage.failure?.code == .deadlineExceeded)
        #expect((stage.failure?.underlyingError as? DownloadError)?.statusCode == 503)
        #expect(stage.delay == nil)
    }

    @Test("rule 31: a status that will not pass is final, and its body never reaches the file")
    func refused() {
        var stage = MachineStage.resuming()
        stage.head(404, ["Content-Length": "9"])
        #expect(stage.bytes(9) == nil)
        stage.end()
        #expect(stage.done == ["release the permit", "close with 50", "end httpStatus, 50 kept"])
        #expect(stage.failure?.statusCode == 404)
    }

    @Test("another process's partial is waited for, without a count and without a permit")
    func ownedElsewhere() {
        var stage = MachineStage()
        stage.finding = .failure(DownloadError(.partialInUse))
        stage.run()
        stage.forget()
        for _ in 0..<10 {
            stage.pass(.milliseconds(250))
            #expect(stage.done == ["ask for a permit", "open", "release the permit"])
            stage.forget()
        }
        stage.finding = .success(.nothing)
        stage.pass(.milliseconds(250))
        #expect(stage.done == ["ask for a permit", "open", "exchange 1 whole"])
    }

    @Test("another process's partial is not waited for where the settings say so")
    func notWaitedFor() {
        var stage = MachineStage { $0.waitsForOwner = false }
        stage.finding = .failure(DownloadError(.partialInUse))
        stage.run()
        #expect(stage.failure?.code == .partialInUse)
    }

    @Test("a partial that cannot be opened fails the transfer")
    func unopened() {
        var stage = MachineStage()
        stage.finding = .failure(DownloadError(.permissionDenied))
        stage.run()
        #expect(stage.done == ["ask for a permit", "open", "release the permit", "end permissionDenied, 0 kept"])
    }

    @Test("checkpoints begin when an object without a validator gets one")
    func checkpointsAfterRestart() {
        var stage = MachineStage.connecting()
        stage.head(200, ["Content-Length": "9000000"])
        stage.bytes(2_000_000)
        #expect(!stage.done.contains { $0.hasPrefix("save") })
        stage.lose()
        stage.pass(.seconds(60))
        stage.forget()
        stage.head(200, ["Content-Length": "9000000", "ETag": "\"v1\""])
        stage.bytes(2_000_000)
        #expect(stage.done.last?.hasPrefix("save") == true)
    }
}
