internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of imports on a disk that fails once or crashes at any moment (rules 38, 39, 44).
@Suite("Imports on a failing disk", .endsWhenHung)
struct ImportFaultTests {
    private static let path = "/elsewhere/bytes.tmp"
    private static let brought: Int64 = 700

    private var representation: Representation {
        var representation = SampleObject.first.representation
        representation.validator = EntityTag("\"a\"").map(Validator.entityTag)
        return representation
    }

    /// Returns a disk with the file to import and, at its destination, a partial with `kept` bytes of another object.
    private func disk(keeping kept: Int64) throws -> SimulatedDisk {
        var disk = CrashTests.freshDisk()
        disk.addFile(Self.path, SampleObject.first.bytes(0..<Self.brought))
        let system = SimulatedFileSystem(disk)
        if kept > 0 {
            let partial = try PartialStore(disk: system, durability: .powerLoss, bootID: "boot").open(
                .sample(in: "/location"))
            var representation = SampleObject.second.representation
            representation.validator = EntityTag("\"b\"").map(Validator.entityTag)
            try partial.begin(representation)
            try partial.write(.second, 0..<kept)
            try partial.save(IntervalSet(0..<kept))
            partial.close()
        }
        return system.disk
    }

    private func store(_ system: SimulatedFileSystem) -> PartialStore {
        PartialStore(disk: system, durability: .processCrash, bootID: "boot")
    }

    @discardableResult
    private func adopt(on system: SimulatedFileSystem) throws -> UnfinishedPartial {
        let file = try importedFile(on: system)
        return try store(system).importFile(at: .sample(in: "/location")) { _ in file }.unfinished
    }

    private func importedFile(on system: SimulatedFileSystem, isTemporary: Bool = true) throws -> ImportedFile {
        let handle = try system.open(Self.path, .existing)
        return ImportedFile(
            path: Self.path, handle: handle, information: try system.information(of: handle),
            representation: representation, received: IntervalSet(0..<Self.brought), isTemporary: isTemporary)
    }

    /// The representation of the imported bytes until a server has confirmed them.
    private var imported: Representation {
        var imported = representation
        imported.isImported = true
        return imported
    }

    @Test(arguments: [0, 300, 699])
    func `boundary 6: imported bytes are found by the next opening, and their file is kept until it is not needed`(
        kept: Int64
    ) throws {
        let system = SimulatedFileSystem(try disk(keeping: kept))
        let unfinished = try adopt(on: system)
        #expect(unfinished.received == IntervalSet(0..<Self.brought))
        #expect(system.disk.bytes(at: Self.path) != nil)
        let partial = try store(system).open(.sample(in: "/location"))
        #expect(partial.finding == .bytes(imported, IntervalSet(0..<Self.brought)))
        #expect(try partial.bytes(0..<Self.brought) == SampleObject.first.bytes(0..<Self.brought))
        try partial.finish(.first, IntervalSet(0..<Self.brought), at: CrashTests.destination)
        #expect(system.disk.names.keys.sorted() == [Self.path, CrashTests.destination])
        let precious = try importedFile(on: system, isTemporary: false)
        store(system).removeImported(precious)
        #expect(system.disk.bytes(at: Self.path) != nil)
        store(system).removeImported(try importedFile(on: system))
        #expect(system.disk.bytes(at: Self.path) == nil)
    }

    @Test func `boundary 6: an imported file that another download continues is kept`() throws {
        let system = SimulatedFileSystem(try disk(keeping: 0))
        try adopt(on: system)
        let file = try importedFile(on: system)
        try system.write([1], to: file.handle, at: Self.brought)
        store(system).removeImported(file)
        #expect(system.disk.bytes(at: Self.path) != nil)
    }

    @Test(arguments: [700, 800])
    func `a file is not imported if the partial has as many bytes`(kept: Int64) throws {
        let system = SimulatedFileSystem(try disk(keeping: kept))
        let before = system.disk.bytes(at: Self.path)
        #expect(try adopt(on: system).received == IntervalSet(0..<kept))
        #expect(system.disk.bytes(at: Self.path) == before)
    }

    @Test(arguments: [0, 300])
    func `rule 39: imported bytes are in one of the two places after every crash`(kept: Int64) throws {
        let system = SimulatedFileSystem(try disk(keeping: kept))
        try adopt(on: system)
        #expect(system.history.count > 8, "the simulation must reach several situations")
        for (moment, disk) in system.history.enumerated() {
            for crash in disk.crashes { try check(disk.after(crash), kept, "after change \(moment), \(crash)") }
        }
    }

    @Test(arguments: [0, 300], [FileFailure.Kind.other, .noSpace])
    func `rule 44: imported bytes are in one of the two places after every failure`(
        kept: Int64, kind: FileFailure.Kind
    ) throws {
        for change in 0... {
            let system = SimulatedFileSystem(try disk(keeping: kept))
            system.behave(.init(fault: .init(change: change, kind: kind)))
            do {
                try adopt(on: system)
            } catch {
                let code = (error as? DownloadError)?.code
                #expect(code == (kind == .noSpace ? .diskFull : .storageFailure), "change \(change)")
                #expect(system.disk.bytes(at: Self.path) != nil, "change \(change): the file is missing after an error")
            }
            for crash in system.disk.crashes {
                try check(system.disk.after(crash), kept, "change \(change) failed, then \(crash)")
            }
            if system.changeCount <= change { break }
        }
    }

    /// Checks that the imported bytes or the old partial can be found.
    ///
    /// The imported bytes are in their file or in the partial; while they are not in the partial, the old one is
    /// unchanged.
    private func check(_ disk: SimulatedDisk, _ kept: Int64, _ moment: String) throws {
        let isThere = disk.bytes(at: Self.path) == SampleObject.first.bytes(0..<Self.brought)
        let system = SimulatedFileSystem(disk, behavior: .init(remembers: false))
        // On another boot, bytes that were not synced are ignored.
        let later = PartialStore(disk: system, durability: .powerLoss, bootID: "later")
        let partial = try later.open(.sample(in: "/location"))
        defer { partial.close() }
        guard case .bytes(let found, let received) = partial.finding else {
            #expect(isThere && kept == 0, "\(moment): nothing was found")
            return
        }
        let isBrought = found == imported
        #expect(isThere || isBrought, "\(moment): the imported bytes are lost")
        #expect(received == IntervalSet(0..<(isBrought ? Self.brought : kept)), "\(moment)")
        let object = isBrought ? SampleObject.first : .second
        #expect(try partial.bytes(0..<received.upperBound) == object.bytes(0..<received.upperBound), "\(moment)")
    }
}
