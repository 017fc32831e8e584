internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("MarkSchedule", .endsWhenHung)
struct MarkScheduleTests {
    @Test("the first bytes are marked at once, then each mebibyte or tenth of a second")
    func schedule() {
        var marks = MarkSchedule()
        #expect(marks.wrote(1, at: .zero, isToldOf: false) == .now)
        #expect(marks.wrote(16 << 10, at: .milliseconds(10), isToldOf: false) == .after(.milliseconds(90)))
        #expect(marks.wrote(16 << 10, at: .milliseconds(20), isToldOf: false) == nil)
        #expect(marks.wrote(1 << 20, at: .milliseconds(30), isToldOf: false) == .now)
        #expect(marks.wrote(1, at: .milliseconds(129), isToldOf: false) == nil, "the timer is set")
        #expect(marks.wrote(1, at: .milliseconds(130), isToldOf: false) == .now)
    }

    @Test("bytes that a subscriber is told of are marked")
    func told() {
        var marks = MarkSchedule()
        _ = marks.wrote(1, at: .zero, isToldOf: false)
        #expect(marks.wrote(1, at: .milliseconds(1), isToldOf: true) == .now)
    }

    @Test("bytes after which nothing comes are marked by the timer, once")
    func timer() {
        var marks = MarkSchedule()
        _ = marks.wrote(1, at: .zero, isToldOf: false)
        #expect(marks.wrote(1, at: .milliseconds(40), isToldOf: false) == .after(.milliseconds(60)))
        let isDue = [marks.isDue(at: .milliseconds(100)), marks.isDue(at: .milliseconds(200))]
        #expect(isDue == [true, false])
        _ = marks.wrote(1, at: .milliseconds(110), isToldOf: false)
        #expect(marks.wrote(1, at: .milliseconds(120), isToldOf: false) == nil)
    }

    @Test("a transfer marks by the schedule, also what a stalled server has sent last, and nothing after its end")
    func transfer() {
        var stage = MachineStage.connecting { $0.progressInterval = .seconds(60) }
        stage.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        stage.bytes(10)
        #expect(stage.marked.count == 10)
        stage.bytes(10)
        stage.bytes(10)
        #expect(stage.marked.count == 10)
        stage.pass(.milliseconds(100))
        #expect(stage.marked.count == 30)
        stage.bytes(10)
        stage.bytes(60)
        stage.end()
        stage.forget()
        stage.pass(.seconds(1))
        #expect(stage.done.isEmpty)
    }
}
