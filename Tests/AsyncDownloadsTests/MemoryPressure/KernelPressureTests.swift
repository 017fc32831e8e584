#if os(Linux)
internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// What the real kernel does; a line says what is left out where it is not permitted.
@Suite("The kernel's memory pressure", .endsWhenHung)
struct KernelPressureTests {
    @Test func `the triggers are accepted for the whole system and for the own control group`() throws {
        let files = PressureFile.candidates(
            environment: [:], membership: try String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8),
            mounts: try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8))
        for file in files {
            guard access(file.path, R_OK | W_OK) == 0 else {
                print("not tested: \(file.path) cannot be written")
                continue
            }
            let descriptors = try PressureDescriptor.open(file)
            #expect(descriptors.map(\.level) == [.warning, .critical])
            for descriptor in descriptors {
                var polled = pollfd(fd: descriptor.number, events: Int16(POLLPRI), revents: 0)
                #expect(poll(&polled, 1, 0) >= 0)
                #expect(polled.revents & Int16(POLLERR | POLLNVAL) == 0, "no trigger is set at \(file.path)")
                close(descriptor.number)
            }
        }
    }

    @Test func `a trigger that the kernel refuses is logged, and leaves nothing open`() throws {
        guard let group = LimitedControlGroup() else {
            return print("not tested: no control group can be made")
        }
        defer { group.remove() }
        let file = PressureFile(
            path: group.path + "/memory.pressure", triggers: [.init(bytes: Array("nonsense\0".utf8), level: .warning)])
        let lines = LogLines()
        SystemMemoryPressure([file], time: ManualTimeSource(), log: lines).watch { _ in }.stop()
        #expect(lines.all == ["memory pressure is not watched: cannot write to \(file.path): Invalid argument"])
        #expect(!OpenDescriptors.paths.contains { $0.hasPrefix(group.path) })
    }

    @Test func `a critical trigger that is refused leaves the warnings`() throws {
        guard let group = LimitedControlGroup() else {
            return print("not tested: no control group can be made")
        }
        defer { group.remove() }
        let nonsense = PressureFile.Trigger(bytes: Array("nonsense\0".utf8), level: .critical)
        let descriptors = try PressureDescriptor.open(
            PressureFile(path: group.path + "/memory.pressure", triggers: [.some, nonsense]))
        #expect(descriptors.map(\.level) == [.warning])
        for descriptor in descriptors { close(descriptor.number) }
    }

    @Test func `the end of a control group ends its watch in silence`() async {
        guard let group = LimitedControlGroup() else {
            return print("not tested: no control group can be made")
        }
        let (lines, levels) = (LogLines(), LevelRecorder())
        let monitor = SystemMemoryPressure(
            [.kernel(group.path + "/memory.pressure")], time: ManualTimeSource(), log: lines)
        let watch = monitor.watch(levels.record)
        #expect(OpenDescriptors.paths.filter { $0.hasPrefix(group.path) }.count == 2)
        group.remove()
        await OpenDescriptors.gone(group.path)
        await lines.any()
        #expect(lines.all == ["memory pressure is not watched: the source has ended"])
        #expect(levels.levels == [])
        watch.stop()
    }

    /// Takes half a minute and keeps a processor and the disk busy, so it is asked for by name.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["ASYNC_DOWNLOADS_THRASH"] != nil))
    func `thrashing in a limited control group is told, and so is its end`() async throws {
        guard let group = LimitedControlGroup(byteLimit: 64 << 20) else {
            return print("not tested: no control group can be limited")
        }
        defer {
            group.endProcesses()
            group.remove()
        }
        let directory = try TemporaryDirectory()
        let levels = LevelRecorder()
        let monitor = SystemMemoryPressure([.kernel(group.path + "/memory.pressure")], time: SystemTimeSource())
        let clock = ContinuousClock()
        let watch = monitor.watch(levels.record)
        // Twice as much as fits is read and dirtied over and over.
        let shell = try group.start(
            """
            dd if=/dev/zero of='\(directory.path)/big' bs=1M count=100 2>/dev/null
            while :; do dd if='\(directory.path)/big' of='\(directory.path)/big' bs=1M conv=notrunc 2>/dev/null; done
            """)
        let start = clock.now
        var seen: [MemoryPressure] = []
        while !seen.contains(.critical), seen.count < 5, let level = await levels.next() {
            print("\(level) after \(clock.now - start) of thrashing")
            seen.append(level)
        }
        group.endProcesses()
        shell.waitUntilExit()
        let end = clock.now
        while let level = await levels.next(), level > .normal {}
        print("normal \(clock.now - end) after its end")
        #expect(seen.contains { $0 > .normal })
        watch.stop()
        await OpenDescriptors.gone(group.path)
    }
}
#endif
