internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Requests that are answered by less than they asked for, again and again.
@Suite("TransferStateMachine, pacing", .endsWhenHung)
struct PacingTests {
    private static let length: Int64 = 1 << 30
    private static let burst = 8

    /// A transfer with the first byte of a large object, whose next request is under way.
    private static func stage(_ change: (inout TransferSettings) -> Void = { _ in }) -> MachineStage {
        var stage = MachineStage(change)
        stage.finding = .success(.bytes(.sample(length: length), IntervalSet(0..<1)))
        stage.run()
        stage.forget()
        return stage
    }

    /// Answers the request under way with a part of `count` bytes.
    private static func deliver(_ count: Int, of length: String = "\(length)", to stage: inout MachineStage) {
        let first = stage.machine.received.prefixEnd
        let last = first + Int64(count) - 1
        stage.head(206, ["Content-Range": "bytes \(first)-\(last)/\(length)", "ETag": "\"v1\""])
        stage.bytes(count)
        stage.end()
    }

    /// Delivers short parts until one is followed by a delay.
    private static func slowed(_ change: (inout TransferSettings) -> Void = { _ in }) -> MachineStage {
        var stage = stage(change)
        for _ in 0..<burst { deliver(1, to: &stage) }
        return stage
    }

    @Test("boundary 14: after eight short parts in a row each next request waits, up to a second")
    func delays() {
        var stage = Self.stage()
        var delays: [Duration?] = []
        for _ in 0..<14 {
            Self.deliver(1, to: &stage)
            delays.append(stage.machine.awaitsTimer ? stage.delay : nil)
            if let delay = delays.last ?? nil { stage.pass(delay) }
        }
        let expected: [Duration?] =
            Array(repeating: nil, count: 7)
            + [100, 200, 400, 800, 1000, 1000, 1000].map { .milliseconds($0) }
        #expect(delays == expected)
        #expect(stage.machine.state == .connecting)
        #expect(stage.machine.received.count == 15)
    }

    @Test("boundary 14: the delay is no failure: no retry is used or told, and the permit and the partial are kept")
    func noFailure() {
        let stage = Self.slowed { $0.retryPolicy = .never }
        #expect(stage.machine.awaitsTimer)
        #expect(stage.machine.isPartialOpen)
        #expect(stage.machine.permitHost != nil)
        #expect(stage.machine.retriesUsed == 0)
        #expect(!stage.told.contains { $0.hasPrefix("retrying") })
        #expect(!stage.done.contains { $0.hasPrefix("release") || $0.hasPrefix("close") })
    }

    @Test("boundary 14: parts of an unknown length are paced as well")
    func unknownLength() {
        var stage = MachineStage()
        stage.finding = .success(.bytes(.sample(length: nil), IntervalSet(0..<1)))
        stage.run()
        for _ in 0..<Self.burst { Self.deliver(1, of: "*", to: &stage) }
        #expect(stage.machine.awaitsTimer)
    }

    @Test("boundary 14: bytes that were there already do not count as brought")
    func overlapping() {
        var stage = MachineStage()
        stage.finding = .success(.bytes(.sample(length: Self.length), IntervalSet(0..<200_000)))
        stage.run()
        for _ in 0..<Self.burst {
            let end = stage.machine.received.prefixEnd
            stage.head(206, ["Content-Range": "bytes 0-\(end)/\(Self.length)", "ETag": "\"v1\""])
            stage.bytes(Int(end) + 1)
            stage.end()
        }
        #expect(stage.machine.awaitsTimer)
    }

    @Test(
        "boundary 14: a part of 64 KiB, even a short one, ends the series",
        arguments: [(65_535, true), (65_536, false)])
    func enough(_ count: Int, _ isPaced: Bool) {
        var stage = Self.stage()
        for _ in 0..<Self.burst - 1 { Self.deliver(1, to: &stage) }
        Self.deliver(count, to: &stage)
        #expect(stage.machine.awaitsTimer == isPaced)
        if isPaced { return }
        for _ in 0..<Self.burst - 1 { Self.deliver(1, to: &stage) }
        #expect(!stage.machine.awaitsTimer)
        Self.deliver(1, to: &stage)
        #expect(stage.machine.awaitsTimer)
    }

    @Test("boundary 14: windows that bring what was asked for are never paced, however small")
    func windows() {
        var stage = Self.stage { $0.windowLength = 10 }
        for _ in 0..<100 {
            Self.deliver(10, to: &stage)
            #expect(stage.machine.state == .connecting)
        }
    }

    @Test("boundary 14: windows that bring less than was asked for are paced")
    func shortWindows() {
        let stage = Self.slowed { $0.windowLength = 10 }
        #expect(stage.machine.awaitsTimer)
    }

    @Test("boundary 14: a failure between short parts does not end the series")
    func failureBetween() {
        var stage = Self.stage()
        for _ in 0..<Self.burst - 1 { Self.deliver(1, to: &stage) }
        stage.lose()
        stage.pass(.seconds(60))
        Self.deliver(1, to: &stage)
        #expect(stage.machine.awaitsTimer)
        #expect(stage.delay == .milliseconds(100))
    }

    @Test("boundary 14: the target of a redirect is still asked after a delay")
    func redirected() {
        var stage = Self.stage()
        stage.head(302, ["Location": "https://a.example/elsewhere", "Content-Length": "0"])
        stage.end()
        for _ in 0..<Self.burst { Self.deliver(1, to: &stage) }
        stage.forget()
        stage.pass(.milliseconds(100))
        #expect(stage.requests.map(\.url.path) == ["/elsewhere"])
    }

    @Test("boundary 14: a part that brings the last byte ends the download at once")
    func last() {
        var stage = MachineStage()
        stage.finding = .success(.bytes(.sample(length: 9), IntervalSet(0..<1)))
        stage.run()
        for _ in 0..<8 { Self.deliver(1, of: "9", to: &stage) }
        #expect(stage.done.last == "end finished")
    }

    @Test("boundary 14: a pause, a cancellation and another URL are taken up during the delay")
    func stopping() {
        var paused = Self.slowed()
        paused.stop(.pause)
        #expect(paused.machine.state == .paused)
        #expect(paused.story.last == "paused 9")
        var parked = Self.slowed()
        parked.stop(.park)
        #expect(parked.done.last == "end parked")
        var discarded = Self.slowed()
        discarded.stop(.discard)
        #expect(discarded.done.last == "end discarded")
        var moved = Self.slowed()
        moved.forget()
        moved.feed(moved.machine.replaceAddress(.init(url: .sample("https://b.example/other")), at: moved.now))
        #expect(moved.requests.map(\.url.host) == ["b.example"])
    }
}
