internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// A transfer whose bytes are found at another location, in each state, and an imported file.
@Suite(.endsWhenHung)
struct TransferRelocationTests {
    private static let reopening = [
        "close with 50", "release the permit", "request a permit", "open", "exchange 2 bytes=50-",
    ]

    @Test func `while bytes arrive, the exchange ends, and the transfer continues from the other location`() {
        var harness = StateMachineHarness.receiving()
        harness.relocate()
        #expect(harness.done == ["cancel 1"] + Self.reopening)
        #expect(harness.log == ["waiting"])
    }

    @Test func `an exchange that has not ended is followed by the other location`() {
        var harness = StateMachineHarness.receiving { $0.retryPolicy = RetryPolicy(maximumRetries: 0) }
        harness.automatic.remove(.cancelling)
        harness.stop(.pause)
        harness.run()
        harness.relocate()
        harness.end(.cancelled)
        #expect(harness.done == ["cancel 1"] + Self.reopening)
    }

    @Test func `a pause that comes later takes effect instead`() {
        var harness = StateMachineHarness.receiving()
        harness.automatic.remove(.cancelling)
        harness.relocate()
        harness.stop(.pause)
        harness.end(.cancelled)
        #expect(harness.done == ["cancel 1", "cancel 1", "close with 50", "release the permit"])
        #expect(harness.log == ["paused 50"])
    }

    @Test func `bytes that the other location does not have are fetched again`() {
        var harness = StateMachineHarness.receiving()
        harness.kept = IntervalSet(0..<30)
        harness.relocate()
        #expect(harness.done == ["cancel 1"] + Self.reopening.dropLast() + ["exchange 2 bytes=30-"])
    }

    /// In these states, the partial file is closed, or an opening follows, or the transfer has all bytes.
    @Test(arguments: [
        "ready", "waiting", "opening", "closing", "paused", "retrying", "finishing", "finished",
    ])
    func `without an open partial file, nothing has to be opened again`(_ state: String) {
        var harness = StateMachineHarness.receiving()
        switch state {
        case "ready": harness = StateMachineHarness()
        case "waiting":
            harness = StateMachineHarness()
            harness.automatic.remove(.permit)
            harness.run()
        case "opening":
            harness = StateMachineHarness()
            harness.automatic.remove(.opening)
            harness.run()
        case "closing":
            harness.automatic.remove(.closing)
            harness.stop(.pause)
        case "paused": harness.stop(.pause)
        case "retrying": harness.lose()
        default:
            if state == "finishing" { harness.automatic.remove(.finishing) }
            harness.bytes(50)
            harness.end()
        }
        harness.forget()
        harness.relocate()
        #expect(harness.done.isEmpty)
        #expect(harness.emitted.isEmpty)
    }

    @Test func `the bytes of an imported file that a 200 replaces are not confirmed by a later 206`() {
        var harness = StateMachineHarness()
        harness.machine.awaitImportConfirmation()
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.run()
        harness.head(200, ["Content-Length": "100", "ETag": "\"v2\""])
        harness.bytes(60)
        harness.lose()
        harness.pass(.seconds(60))
        harness.head(206, ["Content-Range": "bytes 60-99/100", "ETag": "\"v2\""])
        #expect(harness.requests.count == 2)
        #expect(!harness.done.contains("remove the imported file"))
    }

    @Test func `the bytes of an imported file are confirmed by a 206`() {
        var harness = StateMachineHarness()
        harness.machine.awaitImportConfirmation()
        harness.finding = .success(.bytes(.sample(), IntervalSet(0..<50)))
        harness.run()
        harness.head(206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\""])
        #expect(harness.done.contains("remove the imported file"))
    }
}
