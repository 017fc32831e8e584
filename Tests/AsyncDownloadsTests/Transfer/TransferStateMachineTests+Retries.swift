internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, failures that may pass", .endsWhenHung)
struct TransferRetryTests {
    @Test("rule 36: a lost connection is retried from where it broke, without a permit or an open partial meanwhile")
    func lost() {
        var stage = MachineStage.receiving()
        stage.lose()
        #expect(stage.done == ["close with 50", "release the permit"])
        #expect(stage.story == ["retrying 1 connectionLost"])
        stage.forget()
        stage.pass(.seconds(8))
        #expect(stage.done == ["ask for a permit", "open", "exchange 2 bytes=50-"])
        #expect(stage.story == ["waiting"])
        stage.head(206, ["Content-Range": "bytes 50-99/100"])
        #expect(stage.story == ["waiting", "resumed 50"])
    }

    @Test("where the policy draws short delays only, the permit and the open partial are kept")
    func shortDelay() {
        var stage = MachineStage.receiving { $0.retryPolicy.baseDelay = .milliseconds(100) }
        stage.lose()
        #expect(stage.done.isEmpty)
        #expect(stage.story == ["retrying 1 connectionLost"])
        stage.pass(.milliseconds(100))
        #expect(stage.done == ["exchange 2 bytes=50-"])
        stage.forget()
        stage.end(.failed(DownloadError(.tooManyOpenFiles)))
        #expect(stage.done == ["close with 50", "release the permit"], "there is something to give back")
    }

    /// A transfer with 50 bytes whose URL was refused, and a caller that looks for another one.
    private func refreshing() -> MachineStage {
        var stage = MachineStage.resuming()
        stage.machine.demands.isRefreshable = true
        stage.head(403)
        stage.forget()
        return stage
    }

    private static let fresh = TransferStateMachine.Address(url: .sample("https://a.example/fresh"))

    @Test("a fresh URL that comes soon is used at once, with the permit and the partial that are there")
    func soon() {
        var stage = refreshing()
        stage.pass(.seconds(1))
        stage.feed(stage.machine.refreshed(.success(Self.fresh), number: 1, at: stage.now))
        #expect(stage.done == ["exchange 2 bytes=50-"])
        stage.pass(.seconds(2))
        #expect(stage.machine.state == .connecting)
    }

    @Test("a caller that takes long to find a fresh URL keeps no permit, and may be asked again after the wait for one")
    func long() {
        var stage = refreshing()
        stage.pass(.seconds(2))
        #expect(stage.done == ["close with 50", "release the permit"])
        stage.automatic.remove(.permit)
        stage.feed(stage.machine.refreshed(.success(Self.fresh), number: 1, at: stage.now))
        stage.pass(.seconds(600))
        stage.catchUp()
        #expect(stage.done.suffix(3) == ["ask for a permit", "open", "exchange 2 bytes=50-"])
        stage.head(403)
        #expect(stage.done.last == "refresh 2 status(403)" || stage.done.contains { $0.hasPrefix("refresh 2") })
    }

    @Test(
        "a fresh URL, or none, that comes while the partial is closed is taken up when it is", arguments: [true, false])
    func whileClosing(_ isFound: Bool) {
        var stage = refreshing()
        stage.automatic.remove(.closing)
        stage.pass(.seconds(2))
        #expect(stage.done == ["close with 50"])
        let answer: Result<TransferStateMachine.Address, DownloadError> =
            isFound ? .success(Self.fresh) : .failure(DownloadError(.urlRefreshFailed))
        stage.feed(stage.machine.refreshed(answer, number: 1, at: stage.now))
        stage.catchUp()
        if isFound {
            #expect(stage.requests.last?.url == Self.fresh.url)
        } else if DownloadError(.urlRefreshFailed).isRetryable {
            #expect(stage.machine.awaitsTimer)
        } else {
            #expect(stage.failure?.code == .urlRefreshFailed)
        }
    }

    @Test(
        "a redirect to a host without room waits there, without a permit; a target that has expired is asked for anew")
    func redirectedToFullHost() {
        var stage = MachineStage.connecting()
        stage.hasRoom = false
        stage.automatic.remove(.permit)
        stage.head(302, ["Location": "https://b.example/signed"])
        #expect(stage.done.suffix(1) == ["move to b.example"])
        stage.catchUp()
        #expect(stage.done.suffix(4) == ["close", "ask for a permit", "open", "exchange 2 whole"])
        #expect(stage.requests.last?.url == .sample("https://b.example/signed"))
        stage.hasRoom = true
        stage.head(403)
        #expect(stage.requests.last?.url == .sample("https://a.example/file"))
    }

    @Test("a pause that comes while the partial is closed for a delay is obeyed when it is closed")
    func pauseWhileClosing() {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.closing)
        stage.lose()
        #expect(stage.done == ["close with 50"])
        stage.stop(.pause)
        stage.catchUp()
        #expect(stage.machine.state == .paused)
        #expect(stage.delay == nil)
    }

    @Test("the time that closing takes is part of the delay")
    func slowClosing() throws {
        var stage = MachineStage.receiving()
        stage.automatic.remove(.closing)
        stage.end(.failed(DownloadError(.httpStatus, isRetryable: true, retryAfter: .seconds(30))))
        stage.pass(.seconds(20))
        stage.catchUp()
        #expect(stage.delay == .seconds(10))
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
        #expect(stage.done == ["close with 50", "release the permit", "end \(code), 50 kept"])
    }

    @Test("the retries are counted, and the last failure is the one that is reported")
    func exhausted() {
        var stage = MachineStage.connecting()
        for _ in 0..<3 {
            stage.lose()
            stage.pass(.seconds(60))
        }
        #expect(
            stage.story == ["retrying 1 connectionLost", "waiting", "retrying 2 connectionLost", "waiting"])
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

    @Test("rule 31: a status that will not pass is final, and its body never reaches the file")
    func refused() {
        var stage = MachineStage.resuming()
        stage.head(404, ["Content-Length": "9"])
        #expect(stage.bytes(9) == nil)
        stage.end()
        #expect(stage.done == ["close with 50", "release the permit", "end httpStatus, 50 kept"])
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
