internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Memory pressure that a program reports", .endsWhenHung)
struct ManualMemoryPressureTests {
    private let pressure = ManualMemoryPressure()

    @Test func `every watcher has been told when a report returns`() {
        let (first, second) = (LevelRecorder(), LevelRecorder())
        let watches = [first, second].map { pressure.watch($0.record) }
        for level in [MemoryPressure.warning, .warning, .critical, .normal] { pressure.report(level) }
        #expect(first.levels == [.warning, .warning, .critical, .normal])
        #expect(second.levels == first.levels)
        #expect(pressure.level == .normal)
        for watch in watches { watch.stop() }
    }

    @Test func `a watcher that comes later is told what stands, unless that is normal`() {
        let (early, late) = (LevelRecorder(), LevelRecorder())
        _ = pressure.watch(early.record)
        #expect(early.levels == [])
        pressure.report(.critical)
        _ = pressure.watch(late.record)
        #expect(late.levels == [.critical])
        #expect(early.levels == [.critical])
    }

    @Test func `a watch that was stopped is told nothing, and stopping it again does nothing`() {
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

    @Test func `what an observer reports comes after what is being told`() {
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

    @Test func `an observer may stop another one, which is not told any more`() {
        let second = LevelRecorder()
        let held = HeldWatch()
        _ = pressure.watch { _ in held.stop() }
        held.hold(pressure.watch(second.record))
        pressure.report(.warning)
        #expect(second.levels == [])
    }

    @Test func `reports of many threads reach all watchers in one order`() async {
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

    @Test func `what an observer holds may stop watches when it goes`() {
        let watch = pressure.watch(LevelRecorder().record)
        let other = OnDeinit { watch.stop() }
        let holding = pressure.watch { [other] _ in _ = other }
        holding.stop()
        pressure.report(.warning)
        #expect(pressure.level == .warning)
    }

    @Test func `a downloader's source leads to it, and no source to silence`() {
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
