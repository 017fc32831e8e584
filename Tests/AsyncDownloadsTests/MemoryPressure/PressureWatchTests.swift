#if os(Linux)
internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Watching a stand-in for the kernel's memory pressure", .endsWhenHung)
struct PressureWatchTests {
    private let standIn: PressureStandIn
    private let time = ManualTimeSource()
    private let levels = LevelRecorder()
    private let monitor: SystemMemoryPressure

    init() throws {
        standIn = try PressureStandIn()
        monitor = SystemMemoryPressure(standIn.environment, time: time)
    }

    @Test func `bytes in a FIFO are a warning, which ends after ten seconds without more bytes`() async {
        let watch = monitor.watch(levels.record)
        standIn.signal()
        #expect(await levels.next() == .warning)
        await time.timer(ofAtLeast: .seconds(10))
        time.advance(by: .seconds(10))
        #expect(await levels.next() == .normal)
        #expect(levels.levels == [.warning, .normal])
        watch.stop()
        await standIn.unwatched()
    }

    @Test func `another sign is reported again and delays the end`() async {
        let watch = monitor.watch(levels.record)
        standIn.signal()
        #expect(await levels.next() == .warning)
        await time.timer(ofAtLeast: .seconds(10))
        time.advance(by: .seconds(6))
        standIn.signal(byteCount: 10_000)
        #expect(await levels.next() == .warning)
        // Reads of 4,096 bytes result in three signs.
        #expect(await levels.next() == .warning)
        #expect(await levels.next() == .warning)
        time.advance(by: .seconds(4))
        await time.timer(ofAtLeast: .seconds(6))
        time.advance(by: .seconds(5))
        standIn.signal()
        #expect(await levels.next() == .warning, "normal would have been reported earlier")
        watch.stop()
        await standIn.unwatched()
    }

    @Test func `a stopped watch has no open descriptor and no timer`() async {
        for _ in 0..<3 {
            let watch = monitor.watch(levels.record)
            #expect(standIn.isWatched)
            standIn.signal()
            #expect(await levels.next() == .warning)
            await time.timer(ofAtLeast: .seconds(10))
            watch.stop()
            watch.stop()
            await standIn.unwatched()
            time.advance(by: .seconds(20))
        }
        #expect(levels.levels == [.warning, .warning, .warning])
    }

    @Test func `every byte in a FIFO is a warning, whatever the trigger is`() async {
        var environment = standIn.environment
        environment["MEMORY_PRESSURE_WRITE"] = "c29tZSAyMDAwMDAgMjAwMDAwMAA="
        let watch = SystemMemoryPressure(environment, time: time).watch(levels.record)
        #expect(OpenDescriptors.paths.filter { $0 == standIn.path }.count == 1)
        for _ in 0..<5 {
            standIn.signal()
            #expect(await levels.next() == .warning)
        }
        watch.stop()
        await standIn.unwatched()
        #expect(levels.levels.count == 5, "the bytes of the trigger are not read back")
    }

    @Test func `two watches have separate descriptors`() async {
        let other = LevelRecorder()
        let (first, second) = (monitor.watch(levels.record), monitor.watch(other.record))
        first.stop()
        standIn.signal()
        #expect(await other.next() == .warning)
        #expect(levels.levels == [])
        second.stop()
        await standIn.unwatched()
    }

    @Test func `an observer can stop its own watch`() async {
        let held = HeldWatch()
        let levels = levels
        held.hold(
            monitor.watch { level in
                held.stop()
                levels.record(level)
            })
        standIn.signal(byteCount: 20_000)
        #expect(await levels.next() == .warning)
        await standIn.unwatched()
        #expect(levels.levels == [.warning])
    }

    @Test func `a blocking observer does not block a stop of its watch`() async {
        let gate = DispatchSemaphore(value: 0)
        let levels = levels
        let watch = monitor.watch { level in
            levels.record(level)
            gate.wait()
        }
        standIn.signal()
        #expect(await levels.next() == .warning)
        watch.stop()
        gate.signal()
        await standIn.unwatched()
    }

    @Test func `watches start and stop on many threads while signs arrive`() async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let watch = monitor.watch { _ in }
                        if (number + round).isMultiple(of: 2) { standIn.signal() }
                        if (number + round).isMultiple(of: 3) { time.advance(by: .seconds(5)) }
                        async let stopping: Void = watch.stop()
                        watch.stop()
                        await stopping
                    }
                }
            }
        }
        await standIn.unwatched()
    }

    @Test func `two thousand watches leave no open descriptors`() async {
        let before = OpenDescriptors.paths.count
        for _ in 0..<2000 {
            let watch = monitor.watch { _ in }
            watch.stop()
        }
        await standIn.unwatched()
        // Concurrent tests open and close other descriptors; a leak would be four thousand.
        while OpenDescriptors.paths.count >= before + 1500 { await Task.yield() }
    }

    @Test func `the next file is watched if one cannot be`() async {
        let files = [PressureFile(path: "/nowhere", triggers: [.some]), PressureFile.kernel(standIn.path)]
        let lines = LogLines()
        let watch = SystemMemoryPressure(files, time: time, log: lines).watch(levels.record)
        standIn.signal()
        #expect(await levels.next() == .warning)
        #expect(lines.all == [])
        watch.stop()
        await standIn.unwatched()
    }

    @Test func `if no file can be watched, one line is logged and no level is reported`() {
        let lines = LogLines()
        let files = [
            PressureFile.kernel("/nowhere"), .kernel("/dev/zero"), .kernel("/tmp"),
            .kernel("/" + String(repeating: "long/", count: 2000)),
        ]
        let monitor = SystemMemoryPressure(files, time: time, log: lines)
        for _ in 0..<3 { monitor.watch(levels.record).stop() }
        #expect(lines.all.count == 1)
        #expect(lines.all[0].hasPrefix("memory pressure is not watched: cannot examine /nowhere: No such file"))
        #expect(lines.all[0].contains("cannot watch /dev/zero: not a file, FIFO, or socket"))
        #expect(levels.levels == [])
    }

    @Test func `disabled watching is not logged`() {
        let lines = LogLines()
        SystemMemoryPressure([], time: time, log: lines).watch(levels.record).stop()
        #expect(lines.all == [])
    }
}
#endif
