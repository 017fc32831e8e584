internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Memory pressure that a program reports", .endsWhenHung)
struct ManualMemoryPressureTests {
    private let pressure = ManualMemoryPressure()

    @Test func `every observer has received the level when a report returns`() {
        let (first, second) = (LevelRecorder(), LevelRecorder())
        let watches = [first, second].map { pressure.watch($0.record) }
        for level in [MemoryPressure.warning, .warning, .critical, .normal] { pressure.report(level) }
        #expect(first.levels == [.warning, .warning, .critical, .normal])
        #expect(second.levels == first.levels)
        #expect(pressure.level == .normal)
        for watch in watches { watch.stop() }
    }

    @Test func `a later observer receives the current level unless it is normal`() {
        let (early, late) = (LevelRecorder(), LevelRecorder())
        _ = pressure.watch(early.record)
        #expect(early.levels == [])
        pressure.report(.critical)
        _ = pressure.watch(late.record)
        #expect(late.levels == [.critical])
        #expect(early.levels == [.critical])
    }

    @Test func `a stopped watch receives no levels, and stopping it again does nothing`() {
        let (stopped, other) = (LevelRecorder(), LevelRecorder())
        let watch = pressure.watch(stopped.record)
        _ = pressure.watch(other.record)
        watch.stop()
        pressure.report(.warning)
        watch.stop()
        pressure.report(.critical)
        #expect(stopped.levels == [])
        #expect(other.levels == [.warning, .critical])
    }

    @Test func `a level that an observer reports follows the level being delivered`() {
        let (first, second) = (LevelRecorder(), LevelRecorder())
        let pressure = pressure
        _ = pressure.watch { level in
            if level == .warning { pressure.report(.normal) }
            first.record(level)
        }
        _ = pressure.watch(second.record)
        pressure.report(.warning)
        #expect(first.levels == [.warning, .normal])
        #expect(second.levels == [.warning, .normal])
    }

    @Test func `an observer can stop another watch, which receives no more levels`() {
        let second = LevelRecorder()
        let held = HeldWatch()
        _ = pressure.watch { _ in held.stop() }
        held.hold(pressure.watch(second.record))
        pressure.report(.warning)
        #expect(second.levels == [])
    }

    @Test func `reports from many threads reach all observers in one order`() async {
        let (first, second) = (LevelRecorder(), LevelRecorder())
        let pressure = pressure
        _ = pressure.watch(first.record)
        _ = pressure.watch(second.record)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        let extra = pressure.watch { _ in }
                        pressure.report(MemoryPressure.allCases[(number + round) % 3])
                        extra.stop()
                    }
                }
            }
        }
        #expect(first.levels.count == 1600)
        #expect(first.levels == second.levels)
        #expect(first.levels.last == pressure.level)
    }

    @Test func `an object that an observer retains can stop watches when it is released`() {
        let watch = pressure.watch(LevelRecorder().record)
        let other = OnDeinit { watch.stop() }
        let holding = pressure.watch { [other] _ in _ = other }
        holding.stop()
        pressure.report(.warning)
        #expect(pressure.level == .warning)
    }

    @Test func `a manual source delivers its levels, and no source delivers none`() {
        let time = ManualTimeSource()
        let (manual, none) = (LevelRecorder(), LevelRecorder())
        let watches = [
            MemoryPressureSource.manual(pressure).makeMonitor(time: time).watch(manual.record),
            MemoryPressureSource.none.makeMonitor(time: time).watch(none.record),
        ]
        pressure.report(.critical)
        #expect(manual.levels == [.critical])
        #expect(none.levels == [])
        for watch in watches { watch.stop() }
    }
}

private final class OnDeinit: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    deinit { body() }
}
