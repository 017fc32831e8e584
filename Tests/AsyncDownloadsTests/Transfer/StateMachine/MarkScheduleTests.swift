internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The schedule of marks in the checkpoint file.
@Suite(.endsWhenHung)
struct MarkScheduleTests {
    @Test
    func `the first bytes are marked at once, then every mebibyte or tenth of a second`() {
        var marks = MarkSchedule()
        #expect(marks.wrote(1, at: .zero, isReported: false) == .now)
        #expect(marks.wrote(16 << 10, at: .milliseconds(10), isReported: false) == .after(.milliseconds(90)))
        #expect(marks.wrote(16 << 10, at: .milliseconds(20), isReported: false) == nil)
        #expect(marks.wrote(1 << 20, at: .milliseconds(30), isReported: false) == .now)
        #expect(marks.wrote(1, at: .milliseconds(129), isReported: false) == nil, "the timer is set")
        #expect(marks.wrote(1, at: .milliseconds(130), isReported: false) == .now)
    }

    @Test
    func `bytes that are reported to a subscriber are marked`() {
        var marks = MarkSchedule()
        _ = marks.wrote(1, at: .zero, isReported: false)
        #expect(marks.wrote(1, at: .milliseconds(1), isReported: true) == .now)
    }

    @Test
    func `the last bytes before a stall are marked once by the timer`() {
        var marks = MarkSchedule()
        _ = marks.wrote(1, at: .zero, isReported: false)
        #expect(marks.wrote(1, at: .milliseconds(40), isReported: false) == .after(.milliseconds(60)))
        let isDue = [marks.isDue(at: .milliseconds(100)), marks.isDue(at: .milliseconds(200))]
        #expect(isDue == [true, false])
        _ = marks.wrote(1, at: .milliseconds(110), isReported: false)
        #expect(marks.wrote(1, at: .milliseconds(120), isReported: false) == nil)
    }

    @Test
    func `a transfer marks bytes by the schedule, including the last before a stall, but not after its end`() {
        var harness = StateMachineHarness.connecting { $0.progressInterval = .seconds(60) }
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        harness.bytes(10)
        #expect(harness.marked.count == 10)
        harness.bytes(10)
        harness.bytes(10)
        #expect(harness.marked.count == 10)
        harness.pass(.milliseconds(100))
        #expect(harness.marked.count == 30)
        harness.bytes(10)
        harness.bytes(60)
        harness.end()
        harness.forget()
        harness.pass(.seconds(1))
        #expect(harness.done.isEmpty)
    }
}
