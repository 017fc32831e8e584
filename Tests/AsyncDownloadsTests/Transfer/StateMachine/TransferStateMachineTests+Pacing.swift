internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Requests whose responses repeatedly contain less than was requested.
@Suite(.endsWhenHung)
struct TransferPacingTests {
    private static let length: Int64 = 1 << 30
    private static let burst = 8

    /// Returns a transfer with the first byte of a large object, whose next request was sent.
    private static func harness(_ change: (inout TransferSettings) -> Void = { _ in }) -> StateMachineHarness {
        var harness = StateMachineHarness(change)
        harness.finding = .success(.bytes(.sample(length: length), IntervalSet(0..<1)))
        harness.run()
        harness.forget()
        return harness
    }

    /// Responds to the current request with a part of `count` bytes.
    private static func deliver(_ count: Int, of length: String = "\(length)", to harness: inout StateMachineHarness) {
        let first = harness.machine.bytes.intervals.prefixEnd
        let last = first + Int64(count) - 1
        harness.head(206, ["Content-Range": "bytes \(first)-\(last)/\(length)", "ETag": "\"v1\""])
        harness.bytes(count)
        harness.end()
    }

    /// Returns a transfer after short parts until one is followed by a delay.
    static func slowed(_ change: (inout TransferSettings) -> Void = { _ in }) -> StateMachineHarness {
        var harness = harness(change)
        for _ in 0..<burst { deliver(1, to: &harness) }
        return harness
    }

    @Test
    func `boundary 14: after eight successive short parts, each request is delayed by up to a second`() {
        var harness = Self.harness()
        var delays: [Duration?] = []
        for _ in 0..<14 {
            Self.deliver(1, to: &harness)
            delays.append(harness.machine.awaitsTimer ? harness.delay : nil)
            if let delay = delays.last ?? nil { harness.pass(delay) }
        }
        let expected: [Duration?] =
            Array(repeating: nil, count: 7)
            + [100, 200, 400, 800, 1000, 1000, 1000].map { .milliseconds($0) }
        #expect(delays == expected)
        #expect(harness.machine.phase == .connecting)
        #expect(harness.machine.bytes.count == 15)
    }

    @Test
    func `boundary 14: the delay uses and emits no retry, and the permit and the partial file are kept`() {
        let harness = Self.slowed { $0.retryPolicy = .never }
        #expect(harness.machine.awaitsTimer)
        #expect(harness.machine.isRunning)
        #expect(harness.machine.budget.retriesUsed == 0)
        #expect(!harness.emitted.contains { $0.hasPrefix("retrying") })
        #expect(!harness.done.contains { $0.hasPrefix("release") || $0.hasPrefix("close") })
    }

    @Test
    func `boundary 14: parts of a file of unknown length are paced too`() {
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(.sample(length: nil), IntervalSet(0..<1)))
        harness.run()
        for _ in 0..<Self.burst { Self.deliver(1, of: "*", to: &harness) }
        #expect(harness.machine.awaitsTimer)
    }

    @Test
    func `boundary 14: repeated bytes do not count as new`() {
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(.sample(length: Self.length), IntervalSet(0..<200_000)))
        harness.run()
        for _ in 0..<Self.burst {
            let end = harness.machine.bytes.intervals.prefixEnd
            harness.head(206, ["Content-Range": "bytes 0-\(end)/\(Self.length)", "ETag": "\"v1\""])
            harness.bytes(Int(end) + 1)
            harness.end()
        }
        #expect(harness.machine.awaitsTimer)
    }

    @Test(arguments: [(65_535, true), (65_536, false)])
    func `boundary 14: a part of 64 KiB ends the series, even a short one`(_ count: Int, _ isPaced: Bool) {
        var harness = Self.harness()
        for _ in 0..<Self.burst - 1 { Self.deliver(1, to: &harness) }
        Self.deliver(count, to: &harness)
        #expect(harness.machine.awaitsTimer == isPaced)
        if isPaced { return }
        for _ in 0..<Self.burst - 1 { Self.deliver(1, to: &harness) }
        #expect(!harness.machine.awaitsTimer)
        Self.deliver(1, to: &harness)
        #expect(harness.machine.awaitsTimer)
    }

    @Test
    func `boundary 14: segments that contain what was requested are never paced, however small`() {
        var harness = Self.harness { $0.windowLength = 10 }
        for _ in 0..<100 {
            Self.deliver(10, to: &harness)
            #expect(harness.machine.phase == .connecting)
        }
    }

    @Test
    func `boundary 14: segments that contain less than was requested are paced`() {
        let harness = Self.slowed { $0.windowLength = 10 }
        #expect(harness.machine.awaitsTimer)
    }

    @Test
    func `boundary 14: a failure between short parts does not end the series`() {
        var harness = Self.harness()
        for _ in 0..<Self.burst - 1 { Self.deliver(1, to: &harness) }
        harness.lose()
        harness.pass(.seconds(60))
        Self.deliver(1, to: &harness)
        #expect(harness.machine.awaitsTimer)
        #expect(harness.delay == .milliseconds(100))
    }

    @Test
    func `boundary 14: after a delay, the next request still goes to the target of a redirect`() {
        var harness = Self.harness()
        harness.head(302, ["Location": "https://a.example/elsewhere", "Content-Length": "0"])
        harness.end()
        for _ in 0..<Self.burst { Self.deliver(1, to: &harness) }
        harness.forget()
        harness.pass(.milliseconds(100))
        #expect(harness.requests.map(\.url.path) == ["/elsewhere"])
    }

    @Test
    func `boundary 14: a part with the last byte ends the download at once`() {
        var harness = StateMachineHarness()
        harness.finding = .success(.bytes(.sample(length: 9), IntervalSet(0..<1)))
        harness.run()
        for _ in 0..<8 { Self.deliver(1, of: "9", to: &harness) }
        #expect(harness.done.last == "end finished")
    }

    @Test
    func `boundary 14: a pause, a cancellation, and a new URL take effect during the delay`() {
        var paused = Self.slowed()
        paused.stop(.pause)
        #expect(paused.machine.phase == .paused)
        #expect(paused.log.last == "paused 9")
        var abandoned = Self.slowed()
        abandoned.stop(.abandon)
        #expect(abandoned.done.last == "end abandoned")
        var discarded = Self.slowed()
        discarded.stop(.discard)
        #expect(discarded.done.last == "end discarded")
        var moved = Self.slowed()
        moved.forget()
        moved.feed(moved.machine.replaceAddress(.init(url: .sample("https://b.example/other")), at: moved.now))
        #expect(moved.requests.map(\.url.host) == ["b.example"])
    }
}
