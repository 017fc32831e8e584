internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Temporary failures and retries (rules 36 and 37).
@Suite(.endsWhenHung)
struct TransferRetryTests {
    @Test
    func `rule 36: a lost connection is retried from its last byte, without a permit or an open partial meanwhile`() {
        var harness = StateMachineHarness.receiving()
        harness.lose()
        #expect(harness.done == ["close with 50", "release the permit"])
        #expect(harness.log == ["retrying 1 connectionLost"])
        harness.forget()
        harness.pass(.seconds(8))
        #expect(harness.done == ["request a permit", "open", "exchange 2 bytes=50-"])
        #expect(harness.log == ["waiting"])
        harness.head(206, ["Content-Range": "bytes 50-99/100"])
        #expect(harness.log == ["waiting", "resumed 50"])
    }

    @Test
    func `if the policy has short delays only, the permit and the open partial file are kept`() {
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

    /// Returns a transfer with 50 bytes whose URL was refused, and that waits for a fresh one.
    private func refreshing() -> StateMachineHarness {
        var harness = StateMachineHarness.resuming()
        harness.machine.setRefreshable(true)
        harness.head(403)
        harness.forget()
        return harness
    }

    private static let fresh = SourceAddress.Replacement(url: .sample("https://a.example/fresh"))

    @Test
    func `a fresh URL that arrives soon is used at once with the present permit and partial file`() {
        var harness = refreshing()
        harness.pass(.seconds(1))
        harness.feed(harness.machine.supplied(.success(.address(Self.fresh)), 1, at: harness.now))
        #expect(harness.done == ["exchange 2 bytes=50-"])
        harness.pass(.seconds(2))
        #expect(harness.machine.phase == .connecting)
    }

    @Test
    func `a slow refresh holds no permit, and the URL may be refreshed again after the next permit`() {
        var harness = refreshing()
        harness.pass(.seconds(2))
        #expect(harness.done == ["close with 50", "release the permit"])
        harness.automatic.remove(.permit)
        harness.feed(harness.machine.supplied(.success(.address(Self.fresh)), 1, at: harness.now))
        harness.pass(.seconds(600))
        harness.catchUp()
        #expect(harness.done.suffix(3) == ["request a permit", "open", "exchange 2 bytes=50-"])
        harness.head(403)
        #expect(harness.done.contains { $0.hasPrefix("refresh 2") })
    }

    @Test(arguments: [true, false])
    func `the result of a refresh that arrives while the partial file closes is applied afterwards`(_ isFound: Bool) {
        var harness = refreshing()
        harness.automatic.remove(.closing)
        harness.pass(.seconds(2))
        #expect(harness.done == ["close with 50"])
        let answer: Result<TransferStateMachine.Supply, DownloadError> =
            isFound ? .success(.address(Self.fresh)) : .failure(DownloadError(.urlRefreshFailed))
        harness.feed(harness.machine.supplied(answer, 1, at: harness.now))
        harness.catchUp()
        if isFound {
            #expect(harness.requests.last?.url == Self.fresh.url)
        } else if DownloadError(.urlRefreshFailed).isRetryable {
            #expect(harness.machine.awaitsTimer)
        } else {
            #expect(harness.failure?.code == .urlRefreshFailed)
        }
    }

    @Test(arguments: [true, false])
    func `a pause or another URL ends a refresh while the partial file closes`(_ isPaused: Bool) {
        var harness = refreshing()
        harness.automatic.remove(.closing)
        harness.pass(.seconds(2))
        if isPaused {
            harness.stop(.pause)
            harness.feed(harness.machine.supplied(.failure(DownloadError(.urlRefreshFailed)), 1, at: harness.now))
            harness.catchUp()
            #expect(harness.machine.phase == .paused && harness.log == ["paused 50"])
        } else {
            harness.feed(harness.machine.replaceAddress(Self.fresh, at: harness.now))
            #expect(harness.done == ["close with 50", "no refresh"])
            harness.catchUp()
            #expect(harness.requests.last?.url == Self.fresh.url)
        }
    }

    @Test
    func `a redirect to a host at its limit waits without a permit, and an expired target restarts the chain`() {
        var harness = StateMachineHarness.connecting()
        harness.isBelowLimit = false
        harness.automatic.remove(.permit)
        harness.head(302, ["Location": "https://b.example/signed"])
        #expect(harness.done.suffix(1) == ["move to b.example"])
        harness.catchUp()
        #expect(harness.done.suffix(4) == ["close", "request a permit", "open", "exchange 2 whole"])
        #expect(harness.requests.last?.url == .sample("https://b.example/signed"))
        harness.isBelowLimit = true
        harness.head(403)
        #expect(harness.requests.last?.url == .sample("https://a.example/file"))
    }

    @Test
    func `a pause that arrives while the partial file closes for a delay takes effect afterwards`() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.lose()
        #expect(harness.done == ["close with 50"])
        harness.stop(.pause)
        harness.catchUp()
        #expect(harness.machine.phase == .paused)
        #expect(harness.delay == nil)
    }

    @Test
    func `the time for closing is part of the delay`() throws {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.closing)
        harness.end(.failed(DownloadError(.httpStatus, isRetryable: true, retryAfter: .seconds(30))))
        harness.pass(.seconds(20))
        harness.catchUp()
        #expect(harness.delay == .seconds(10))
    }

    @Test
    func `rules 20 and 29: a body that ends early is retried like a lost connection`() {
        var harness = StateMachineHarness.receiving()
        harness.end(.complete)
        #expect(harness.log == ["retrying 1 connectionLost"])
    }

    @Test
    func `an exchange that ends without a head is retried like a lost connection`() {
        var harness = StateMachineHarness.connecting()
        harness.end(.complete)
        #expect(harness.log == ["retrying 1 connectionLost"])
    }

    @Test(arguments: [DownloadError.Code.secureConnectionFailed, .unsupported])
    func `a permanent failure is final`(_ code: DownloadError.Code) {
        var harness = StateMachineHarness.receiving()
        harness.end(.failed(DownloadError(code)))
        #expect(harness.done == ["close with 50", "release the permit", "end \(code), 50 kept"])
    }

    @Test
    func `the number of retries is limited, and the last failure is reported`() {
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

    @Test
    func `rule 37: an attempt with new bytes resets the retries`() {
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

    @Test
    func `rule 37: repeated bytes do not reset the retries`() {
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

    @Test
    func `rule 37: bytes of an earlier run do not count as new`() {
        var harness = StateMachineHarness.resuming { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        for _ in 0..<2 {
            harness.head(206, ["Content-Range": "bytes 50-99/100"])
            harness.lose()
            harness.pass(.seconds(60))
        }
        #expect(harness.failure?.code == .connectionLost)
        #expect(harness.failure?.retainedByteCount == 50)
    }

    @Test(arguments: [("30", 30), ("600", 600), ("86400", 600)])
    func `rule 37: Retry-After is observed up to the policy's limit`(_ value: String, _ seconds: Int64) {
        var harness = StateMachineHarness.connecting()
        harness.head(503, ["Retry-After": value])
        #expect(harness.delay == .seconds(seconds))
    }

    @Test
    func `rule 37: without Retry-After, the delay is random between zero and the policy's bound`() throws {
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

    @Test
    func `rule 31: a permanent status is final, and its body is never written to the file`() {
        var harness = StateMachineHarness.resuming()
        harness.head(404, ["Content-Length": "9"])
        #expect(harness.bytes(9) == nil)
        harness.end()
        #expect(harness.done == ["close with 50", "release the permit", "end httpStatus, 50 kept"])
        #expect(harness.failure?.statusCode == 404)
    }

    @Test
    func `a partial file of another process is waited for without a limit on retries and without a permit`() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.partialInUse))
        harness.run()
        harness.forget()
        for _ in 0..<10 {
            harness.pass(.milliseconds(250))
            #expect(harness.done == ["request a permit", "open", "release the permit"])
            harness.forget()
        }
        harness.finding = .success(.nothing)
        harness.pass(.milliseconds(250))
        #expect(harness.done == ["request a permit", "open", "exchange 1 whole"])
    }

    @Test
    func `a partial file of another process is not waited for if the settings say so`() {
        var harness = StateMachineHarness { $0.waitsForOwner = false }
        harness.finding = .failure(DownloadError(.partialInUse))
        harness.run()
        #expect(harness.failure?.code == .partialInUse)
    }

    @Test
    func `a partial file that cannot be opened fails the transfer`() {
        var harness = StateMachineHarness()
        harness.finding = .failure(DownloadError(.permissionDenied))
        harness.run()
        #expect(harness.done == ["request a permit", "open", "release the permit", "end permissionDenied, 0 kept"])
    }

    @Test
    func `checkpoints start when an object without a validator gets one`() {
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
