internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Lets every single change of the disk fail, once, in every script (rules 38, 44, 45).
@Suite("A disk that fails once", .serialized, .endsWhenHung(minutes: 12))
struct FaultTests {
    @Test("leaves what was saved and nothing wrong", arguments: CrashTests.scripts)
    func everyChange(script: StorageScript) async throws {
        for change in 0... {
            // Other suites' tests have their turn, too.
            await Task.yield()
            let disk = SimulatedFileSystem(CrashTests.freshDisk())
            disk.behave(.init(fault: .init(change: change, kind: .other)))
            var run = StorageRun(script, durability: .powerLoss, disk: disk)
            let errors = try run.runOn { run in
                for crash in [SimulatedDisk.Crash.process, .power(names: 99, data: [:])] {
                    try check(disk.disk.after(crash), run, "soon after change \(change) failed, \(crash)")
                }
            }
            let isOver = disk.changeCount <= change
            for error in errors {
                #expect((error as? DownloadError)?.code == .storageFailure, "change \(change) failed")
            }
            let state = disk.disk
            for crash in state.crashes { try check(state.after(crash), run, "change \(change) failed, then \(crash)") }
            if isOver { break }
        }
    }

    private func check(_ disk: SimulatedDisk, _ run: StorageRun, _ moment: String) throws {
        let promise = run.promise(at: .max)
        // Marks promise nothing when a disk fails, and one crash tells nothing of the machine's run: no mark counts.
        let store = run.store(
            on: SimulatedFileSystem(disk, behaviour: .init(remembers: false)), boot: promise.boot + 1)
        // Where one destination failed, another may have taken the file.
        let isWhole = CrashTests.destinations.contains { path in
            SampleObject.allCases.contains { $0.bytes() == disk.bytes(at: path) }
        }
        let content = disk.bytes(at: CrashTests.destination)
        #expect(
            content == CrashTests.old || SampleObject.allCases.contains { $0.bytes() == content },
            "\(moment): the destination is neither")
        let partial = try store.open(.sample(in: run.script.directory))
        var kept: Int64 = 0
        if case .bytes(let representation, let found) = partial.finding {
            let object = try #require(SampleObject(representation), "\(moment)")
            kept = found.count
            for range in found.ranges {
                #expect(try partial.bytes(range) == object.bytes(range), "\(moment): claimed bytes are not there")
            }
        }
        if promise.placed == nil, !isWhole {
            #expect(kept >= promise.power, "\(moment): only \(kept) bytes of \(promise.power) were found")
        }
    }
}
