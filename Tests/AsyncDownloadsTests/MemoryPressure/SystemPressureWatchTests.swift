internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("One watch of the system's memory pressure", .endsWhenHung)
struct SystemPressureWatchTests {
    private let time = ManualTimeSource()
    private let levels = LevelRecorder()
    private let watch: SystemPressureWatch

    init() {
        watch = SystemPressureWatch(time: time, observer: levels.record)
    }

    @Test func `the observer has received the level when a sign was accepted`() {
        for level in [MemoryPressure.critical, .warning, .normal] { watch.take(.lasting(level)) }
        #expect(levels.levels == [.critical, .warning, .normal])
    }

    @Test func `a sign after the stop is dropped`() {
        watch.take(.lasting(.warning))
        watch.stop()
        watch.take(.lasting(.critical))
        watch.take(.moment(.critical))
        time.advance(by: .seconds(20))
        #expect(levels.levels == [.warning])
    }

    @Test func `a stop ends the source once`() {
        let ends = LogLines()
        watch.setSource { ends.append("ended") }
        watch.stop()
        watch.stop()
        #expect(ends.all == ["ended"])
    }
}
