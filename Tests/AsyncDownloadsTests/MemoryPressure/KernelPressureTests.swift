#if os(Linux)
internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests with the real kernel; each test prints a line if it is not permitted to run.
@Suite("The kernel's memory pressure", .endsWhenHung)
struct KernelPressureTests {
    @Test func `the kernel accepts the triggers for the whole system and for the process's control group`() throws {
        let files = PressureFile.candidates(
            environment: [:], membership: try String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8),
            mounts: try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8))
        for file in files {
            guard access(file.path, R_OK | W_OK) == 0 else {
                print("not tested: \(file.path) is not writable")
                continue
            }
            let descriptors = try PressureDescriptor.open(file)
            #expect(descriptors.map(\.level) == [.warning, .critical])
            for descriptor in descriptors {
                var polled = pollfd(fd: descriptor.number, events: Int16(POLLPRI), revents: 0)
                #expect(poll(&polled, 1, 0) >= 0)
                #expect(polled.revents & Int16(POLLERR | POLLNVAL) == 0, "the trigger at \(file.path) is not set")
                close(descriptor.number)
            }
        }
    }

    @Test func `a refused trigger is logged, and no descriptor stays open`() throws {
        guard let group = LimitedControlGroup() else {
            return print("not tested: control groups cannot be created")
        }
        defer { group.remove() }
        let file = PressureFile(
            path: group.path + "/memory.pressure", triggers: [.init(bytes: Array("nonsense\0".utf8), level: .warning)])
        let lines = LogLines()
        SystemMemoryPressure([file], time: ManualTimeSource(), log: lines).watch { _ in }.stop()
        #expect(lines.all == ["memory pressure is not watched: cannot write to \(file.path): Invalid argument"])
        #expect(!OpenDescriptors.paths.contains { $0.hasPrefix(group.path) })
    }

    @Test func `warnings work without a refused critical trigger`() throws {
        guard let group = LimitedControlGroup() else {
            return print("not tested: control groups cannot be created")
        }
        defer { group.remove() }
        let nonsense = PressureFile.Trigger(bytes: Array("nonsense\0".utf8), level: .critical)
        let descriptors = try PressureDescriptor.open(
            PressureFile(path: group.path + "/memory.pressure", triggers: [.some, nonsense]))
        #expect(descriptors.map(\.level) == [.warning])
        for descriptor in descriptors { close(descriptor.number) }
    }

    @Test func `the removal of a control group ends its watch without a level`() async {
        guard let group = LimitedControlGroup() else {
            return print("not tested: control groups cannot be created")
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

    /// Enabled by an environment variable only, because it uses a processor and the disk for half a minute.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["ASYNC_DOWNLOADS_THRASH"] != nil))
    func `thrashing in a limited control group, and its end, are reported`() async throws {
        guard let group = LimitedControlGroup(byteLimit: 64 << 20) else {
            return print("not tested: control groups cannot be limited")
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
        // Reads and writes twice as many bytes as fit in memory, repeatedly.
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
        print("normal \(clock.now - end) after the end of thrashing")
        #expect(seen.contains { $0 > .normal })
        watch.stop()
        await OpenDescriptors.gone(group.path)
    }
}
#endif
