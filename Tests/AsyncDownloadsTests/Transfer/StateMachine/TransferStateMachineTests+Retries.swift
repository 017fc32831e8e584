internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("TransferStateMachine, failures that may pass", .endsWhenHung)
struct TransferRetryTests {
    @Test("rule 36: a lost connection is retried from where it broke, without a permit or an open partial meanwhile")
    func lost() {
        var harness = StateMachineHarness.receiving()
        harness.lose()
        #expect(harness.done == ["close with 50", "release the permit"])
        #expect(harness.log == ["retrying 1 connectionLost"])
        harness.forget()
        harness.pass(.seconds(8))
        #expect(harness.done == ["ask for a permit", "open", "exchange 2 bytes=50-"])
        #expect(harness.log == ["waiting"])
        harness.head(206, ["Content-Range": "bytes 50-99/100"])
        #expect(harness.log == ["waiting", "resumed 50"])
    }

    @Test("where the policy draws short delays only, the permit and the open partial are kept")
    func shortDelay() {
        var harness = StateMachineHarness.receiving { $0.retryPolicy.baseDelay = .milliseconds(100) }
        harness.lose()
        #expect(harness.done.isEmpty)
        #expect(harness.log == ["retrying 1 connectionLost"])
        harness.pass(.milliseconds(100))
        #expect(harness.done == ["exchange 2 bytes=50-"])
        harness.forget()
        harness.end(.failed(DownloadError(.tooManyOpenFiles)))
        #expect(harness.done == ["close with 50", "release the permit"], "there is something to give back")
    }

    /// A transfer with 50 bytes whose URL was refused, and a caller that looks for another one.
    private func refreshing() -> StateMachineHarness {
        var harness = StateMachineHarness.resuming()
        harness.machine.setRefreshable(true)
        harness.head(403)
        harness.forget()
        return harness
    }

    private static let fresh = SourceAddress.Replacement(url: .sample("https://a.example/fresh"))

    @Test("a fresh URL that comes soon is used at once, with the permit and the partial that are there")
    func soon() {
        var harness = refreshing()
        harness.pass(.seconds(1))
        harness.feed(harness.machine.refreshed(.success(Self.fresh), 1, at: harness.now))
        #expect(harness.done == ["exchange 2 bytes=50-"])
        harness.pass(.seconds(2))
        #expect(harness.machine.phase == .connecting)
    }

    @Test("a caller that takes long to find a fresh URL keeps no permit, and may be asked again after the wait for one")
    func long() {
        var harness = refreshing()
        harness.pass(.seconds(2))
        #expect(harness.done == ["close with 50", "release the permit"])
        harness.automatic.remove(.permit)
        harness.feed(harness.machine.refreshed(.success(Self.fresh), 1, at: harness.now))
        harness.pass(.seconds(600))
        harness.catchUp()
        #expect(harness.done.suffix(3) == ["ask for a permit", "open", "exchange 2 bytes=50-"])
        harness.head(403)
        #expect(harness.done.last == "refresh 2 status(403)" || harness.done.contains { $0.hasPrefix("refresh 2") })
    }

    @Test(
        "a fresh URL, or none, that comes while the partial is closed is taken up when it is", arguments: [true, false])
    func whileClosing(_ isFound: Bool) {
        var harness = refreshing()
        harness.automatic.remove(.closing)
        harness.pass(.seconds(2))
        #expect(harness.done == ["close with 50"])
        let answer: Result<SourceAddress.Replacement, DownloadError> =
            isFound ? .success(Self.fresh) : .failure(DownloadError(.urlRefreshFailed))
        harness.feed(harness.machine.refreshed(answer, 1, at: harness.now))
        harness.catchUp()
        if isFound {
            #expect(harness.requests.last?.url == Self.fresh.url)
        } else if DownloadError(.urlRefreshFailed).isRetryable {
            #expect(harness.machine.awaitsTimer)
        } else {
            #expect(harness.failure?.code == .urlRefreshFailed)
        }
    }

    @Test(
        "a redirect to a host without room waits there, without a permit; a target that has expired is asked for anew")
    func redirectedToFullHost() {
        var harness = StateMachineHarness.connecting()
        harness.hasRoom = false
        harness.automatic.remove(.permit)
        harness.head(302, ["Location": "https://b.example/signed"])
        #expect(harness.done.suffix(1) == ["move to b.example"])
        harness.catchUp()
        #expect(harness.done.suffix(4) == ["close", "ask for a permit", "open", "exchange 2 whole"])
        #expect(harness.requests.last?.url == .sample("https://b.example/signed"))
        harness.hasRoom = true
        harness.head(403)
        #expect(harness.requests.last?.url == .sample("https://a.example/file"))
    }

    @Test("a pause that comes while the partial is closed for a delay is obeyed when it is closed")
    func pauseWhileClosing() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.lose()
        #expect(harness.done == ["close with 50"])
        harness.stop(.pause)
        harness.catchUp()
        #expect(harness.machine.phase == .paused)
        #expect(harness.delay == nil)
    }

    @Test("the time that closing takes is part of the delay")
    func slowClosing() throws {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.end(.failed(DownloadError(.httpStatus, isRetryable: true, retryAfter: .seconds(30))))
        harness.pass(.seconds(20))
        harness.catchUp()
        #expect(harness.delay == .seconds(10))
    }

    @Test("rules 20 and 29: a body that ends in order but short is a failure like a lost connection")
    func truncated() {
        var harness = StateMachineHarness.receiving()
        harness.end(.complete)
        #expect(harness.log == ["retrying 1 connectionLost"])
    }

    @Test("an exchange that ends without a head is a failure like a lost connection")
    func headless() {
        var harness = StateMachineHarness.connecting()
        harness.end(.complete)
        #expect(harness.log == ["retrying 1 connectionLost"])
    }

    @Test(
        "a failure that will not pass is final", arguments: [DownloadError.Code.secureConnectionFailed, .unsupported])
    func final(_ code: DownloadError.Code) {
        var harness = StateMachineHarness.receiving()
        harness.end(.failed(DownloadError(code)))
        #expect(harness.done == ["close with 50", "release the permit", "end \(code), 50 kept"])
    }

    @Test("the retries are counted, and the last failure is the one that is reported")
    func exhausted() {
        var harness = StateMachineHarness.connecting()
        for _ in 0..<3 {
            harness.lose()
            harness.pass(.seconds(60))
        }
        #expect(
            harness.log == ["retrying 1 connectionLost", "waiting", "retrying 2 connectionLost", "waiting"])
        #expect(harness.failure?.code == .connectionLost)
        #expect(harness.failure?.isRetryable == true)
    }

    @Test("rule 37: an attempt that brings new bytes gives the retries back")
    func budget() {
        var harness = StateMachineHarness.resuming { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        for start in stride(from: 50, to: 90, by: 10) {
            harness.head(206, ["Content-Range": "bytes \(start)-99/100"])
            harness.bytes(10)
            harness.lose()
            harness.pass(.seconds(60))
        }
        #expect(harness.failure == nil)
        #expect(Set(harness.log.filter { $0.hasPrefix("retrying") }) == ["retrying 1 connectionLost"])
        harness.lose()
        #expect(harness.failure?.code == .connectionLost)
    }

    @Test("rule 37: the same bytes once more do not give the retries back")
    func noNewBytes() {
        var harness = StateMachineHarness.connecting { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        for _ in 0..<3 where harness.failure == nil {
            harness.head(200, ["Content-Length": "100"])
            harness.bytes(30)
            harness.lose()
            harness.pass(.seconds(60))
        }
        #expect(harness.failure?.code == .connectionLost)
        #expect(harness.machine.meter.fetched == 60)
    }

    @Test("rule 37: bytes that were there before this run are no news")
    func oldBytes() {
        var harness = StateMachineHarness.resuming { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        for _ in 0..<2 {
            harness.head(206, ["Content-Range": "bytes 50-99/100"])
            harness.lose()
            harness.pass(.seconds(60))
        }
        #expect(harness.failure?.code == .connectionLost)
        #expect(harness.failure?.retainedByteCount == 50)
    }

    @Test(
        "rule 37: Retry-After is waited for, up to the policy's limit",
        arguments: [("30", 30), ("600", 600), ("86400", 600)])
    func retryAfter(_ value: String, _ seconds: Int64) {
        var harness = StateMachineHarness.connecting()
        harness.head(503, ["Retry-After": value])
        #expect(harness.delay == .seconds(seconds))
    }

    @Test("rule 37: without Retry-After the delay is drawn from zero to the policy's bound")
    func drawn() throws {
        for seed in 0..<50 as Range<UInt64> {
            let settings = TransferSettings(url: .sample("https://a.example/"))
            var harness = StateMachineHarness()
            harness.machine = TransferStateMachine(settings: settings, seed: seed)
            harness.run()
            for bound in [1, 2, 4, 8, 16] {
                harness.lose()
                let delay = try #require(harness.delay)
                #expect(delay >= .zero && delay <= .seconds(bound))
                harness.pass(delay)
            }
        }
    }

    @Test("rule 31: a status that will not pass is final, and its body never reaches the file")
    func refused() {
        var harness = StateMachineHarness.resuming()
        harness.head(404, ["Content-Length": "9"])
        #expect(harness.bytes(9) == nil)
        harness.end()
        #expect(harness.done == ["close with 50", "release the permit", "end httpStatus, 50 kept"])
        #expect(harness.failure?.statusCode == 404)
    }

    @Test("another process's partial is waited for, without a count and without a permit")
    func ownedElsewhere() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.partialInUse))
        harness.run()
        harness.forget()
        for _ in 0..<10 {
            harness.pass(.milliseconds(250))
            #expect(harness.done == ["ask for a permit", "open", "release the permit"])
            harness.forget()
        }
        harness.finding = .success(.nothing)
        harness.pass(.milliseconds(250))
        #expect(harness.done == ["ask for a permit", "open", "exchange 1 whole"])
    }

    @Test("another process's partial is not waited for where the settings say so")
    func notWaitedFor() {
        var harness = StateMachineHarness { $0.waitsForOwner = false }
        harness.finding = .failure(DownloadError(.partialInUse))
        harness.run()
        #expect(harness.failure?.code == .partialInUse)
    }

    @Test("a partial that cannot be opened fails the transfer")
    func unopened() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.permissionDenied))
        harness.run()
        #expect(harness.done == ["ask for a permit", "open", "release the permit", "end permissionDenied, 0 kept"])
    }

    @Test("checkpoints begin when an object without a validator gets one")
    func checkpointsAfterRestart() {
        var harness = StateMachineHarness.connecting()
        harness.head(200, ["Content-Length": "9000000"])
        harness.bytes(2_000_000)
        #expect(!harness.done.contains { $0.hasPrefix("save") })
        harness.lose()
        harness.pass(.seconds(60))
        harness.forget()
        harness.head(200, ["Content-Length": "9000000", "ETag": "\"v1\""])
        harness.bytes(2_000_000)
        #expect(harness.done.last?.hasPrefix("save") == true)
    }
}
