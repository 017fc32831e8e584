internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests with two processes at one location, which no lock separates: the second starts at each moment of the first.
@Suite("Two owners without a lock", .serialized, .endsWhenHung)
struct TwoOwnersTests {
    static let first = StorageScript(
        testDescription: "the first",
        steps: [
            .open, .begin(.first), .write(0..<300), .save, .write(300..<500), .mark, .write(500..<600), .save,
            .write(600..<1000), .mark, .save, .place([CrashTests.destination]),
        ])

    /// After the first save, a buffered partial makes the same changes as the other kind.
    static let firstBuffered = StorageScript(
        testDescription: "the first, buffered",
        steps: [
            .open, .begin(.first), .write(0..<300), .save, .write(300..<1000), .place([CrashTests.destination]),
        ])

    private static let checked = CheckedSituations()

    /// What the second process does after it has opened the partial.
    enum Second: CaseIterable, Sendable {
        case onlyOpens
        case continuesAndIsKilled
        case continuesAndFinishes
        case restartsAndIsKilled
        case restartsAndFinishes
        case discards
    }

    /// The reason why both processes use the location, and the kind of partial.
    struct Setting: Sendable, CustomTestStringConvertible {
        let locks: SimulatedFileSystem.Locks
        let isBuffered: Bool

        /// All settings.
        ///
        /// A process without a lock takes the file from the other one. If both acquire the lock, because something has
        /// removed the lock file of the first one, they use the same names.
        static let all = [SimulatedFileSystem.Locks.missing, .firstOnly, .pretended].flatMap { locks in
            [false, true].map { Setting(locks: locks, isBuffered: $0) }
        }

        var testDescription: String { "locks are \(locks)\(isBuffered ? ", buffered" : "")" }

        /// The codes of the errors that the first process may report.
        var codes: Set<DownloadError.Code> {
            locks == .pretended ? [.partialInUse, .destinationUnusable] : [.partialInUse]
        }
    }

    @Test(arguments: Second.allCases, Setting.all)
    func `rule 50: two owners never mix their bytes, and claim only bytes that exist`(
        second: Second, setting: Setting
    ) async throws {
        let isBuffered = setting.isBuffered
        let options = StoreOptions(durability: .powerLoss, isBuffered: isBuffered)
        var seen = 0
        for change in 0... {
            // Gives tests of other suites a turn.
            await Task.yield()
            let disk = SimulatedFileSystem(CrashTests.freshDisk())
            disk.behave(
                .init(
                    locks: setting.locks,
                    interruption: (
                        change,
                        {
                            self.run(
                                second,
                                PartialStore(
                                    disk: disk, durability: .powerLoss, bootID: "boot",
                                    bufferedLength: isBuffered ? 2 * SampleObject.length : 0))
                        }
                    )))
            var run = StorageRun(isBuffered ? Self.firstBuffered : Self.first, options, disk: disk)
            let errors = run.runOn { _ in }
            for error in errors {
                let code = try #require(error as? DownloadError).code
                #expect(setting.codes.contains(code), "at change \(change)")
            }
            // The states before this change are the same as in the previous run, which has checked them.
            let isLast = disk.changeCount <= change
            if isLast { #expect(disk.history.count == change + 1, "each change succeeds, and has one state") }
            // Both processes run on the same boot, so all marks are valid.
            for state in disk.history.dropFirst(isLast ? 0 : change) {
                try check(state.after(.process), boot: "boot", "at change \(change)")
            }
            let lost = disk.disk.after(.power(names: 99, data: [:]))
            try check(lost, boot: "another", "at change \(change), power lost")
            seen += errors.isEmpty ? 0 : 1
            if isLast { break }
        }
        #expect(seen > 0 || second == .onlyOpens, "the second process must interfere at least once")
    }

    private func run(_ second: Second, _ store: PartialStore) {
        do {
            let partial = try store.open(.sample(in: "/location"))
            var (object, received) = (SampleObject.first, IntervalSet())
            if case .bytes(let representation, let found) = partial.finding {
                (object, received) = (SampleObject(representation) ?? .first, found)
            }
            switch second {
            case .onlyOpens: partial.close()
            case .discards: partial.discard()
            case .continuesAndIsKilled, .continuesAndFinishes:
                if received.isEmpty { try partial.begin(object.representation) }
            case .restartsAndIsKilled, .restartsAndFinishes:
                (object, received) = (.second, IntervalSet())
                try partial.begin(object.representation)
            }
            switch second {
            case .onlyOpens, .discards: break
            case .continuesAndIsKilled, .restartsAndIsKilled:
                let end = min(received.prefixEnd + 50, SampleObject.length)
                try partial.write(object, received.prefixEnd..<end)
                received.insert(received.prefixEnd..<end)
                partial.mark(received)
                partial.leak()
            case .continuesAndFinishes, .restartsAndFinishes:
                try partial.finish(object, received, at: CrashTests.destination)
            }
        } catch {
            #expect((error as? DownloadError)?.code == .partialInUse, "the second: \(error)")
        }
    }

    /// Checks a disk once for all tests, because the result depends only on the disk and the boot.
    private func check(_ disk: SimulatedDisk, boot: String, _ moment: String) throws {
        guard Self.checked.insert(disk.situation(boot)) else { return }
        let content = disk.bytes(at: CrashTests.destination)
        let isWhole = SampleObject.allCases.contains { $0.bytes() == content }
        #expect(isWhole || content == CrashTests.old, "\(moment): the destination is neither old nor whole")
        let system = SimulatedFileSystem(disk, behavior: .init(remembers: false))
        let store = PartialStore(disk: system, durability: .powerLoss, bootID: boot)
        let partial = try store.open(.sample(in: "/location"))
        guard case .bytes(let representation, let found) = partial.finding else { return }
        let object = try #require(SampleObject(representation), "\(moment)")
        for range in found.ranges {
            #expect(try partial.bytes(range) == object.bytes(range), "\(moment): claimed bytes are missing")
        }
    }
}
