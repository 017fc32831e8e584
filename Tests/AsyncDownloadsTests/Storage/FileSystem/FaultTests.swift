internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests in which each single change of the disk fails once, in each script (rules 38, 44, 45).
@Suite("A disk that fails once", .serialized, .endsWhenHung(minutes: 12))
struct FaultTests {
    @Test(arguments: CrashTests.cases.filter { $0.1.durability == .powerLoss })
    func `rules 38, 44, and 45: saved bytes survive every failure, and no wrong bytes are claimed`(
        script: StorageScript, options: StoreOptions
    ) async throws {
        let checked = CheckedSituations()
        func checkOnce(_ disk: SimulatedDisk, _ run: StorageRun, _ moment: String) throws {
            let promise = run.promise(at: .max)
            guard checked.insert(disk.situation(promise)) else { return }
            try check(disk, run, promise, moment)
        }
        for change in 0... {
            // Gives tests of other suites a turn.
            await Task.yield()
            let disk = SimulatedFileSystem(CrashTests.freshDisk())
            disk.behave(.init(fault: .init(change: change, kind: .other)))
            var run = StorageRun(script, options, disk: disk)
            let errors = try run.runOn { run in
                for crash in [SimulatedDisk.Crash.process, .power(names: 99, data: [:])] {
                    try checkOnce(disk.disk.after(crash), run, "soon after change \(change) failed, \(crash)")
                }
            }
            let isOver = disk.changeCount <= change
            for error in errors {
                #expect((error as? DownloadError)?.code == .storageFailure, "change \(change) failed")
            }
            let state = disk.disk
            for crash in state.crashes {
                try checkOnce(state.after(crash), run, "change \(change) failed, then \(crash)")
            }
            if isOver { break }
        }
    }

    private func check(
        _ disk: SimulatedDisk, _ run: StorageRun, _ promise: StorageRun.Promise, _ moment: String
    ) throws {
        // No mark is expected to survive, because marks make no promise on a failing disk and some crashes end the
        // boot.
        let store = run.store(
            on: SimulatedFileSystem(disk, behavior: .init(remembers: false)), boot: promise.boot + 1)
        // If one destination failed, another one may have received the file.
        let isWhole = CrashTests.destinations.contains { path in
            SampleObject.allCases.contains { $0.bytes() == disk.bytes(at: path) }
        }
        let content = disk.bytes(at: CrashTests.destination)
        #expect(
            content == CrashTests.old || SampleObject.allCases.contains { $0.bytes() == content },
            "\(moment): the destination is neither old nor whole")
        let partial = try store.open(.sample(in: run.script.directory))
        var kept: Int64 = 0
        if case .bytes(let representation, let found) = partial.finding {
            let object = try #require(SampleObject(representation), "\(moment)")
            kept = found.count
            for range in found.ranges {
                #expect(try partial.bytes(range) == object.bytes(range), "\(moment): claimed bytes are missing")
            }
        }
        if promise.placed == nil, !isWhole {
            #expect(kept >= promise.power, "\(moment): only \(kept) of \(promise.power) bytes were found")
        }
    }
}
