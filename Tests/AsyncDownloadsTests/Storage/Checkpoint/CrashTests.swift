internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests that replay scripts on a simulated disk with each crash at each moment (rules 38 to 42, 46, 54).
///
/// After each crash a new process opens the partial. It must find nothing, something unusable, or bytes that equal the
/// server's bytes of the same representation. No promised byte may be lost. The destination must be unchanged
/// or complete. The download must be able to finish from there, without leftovers.
@Suite("A crash at any moment", .serialized, .endsWhenHung(minutes: 12))
struct CrashTests {
    static let old: [UInt8] = Array("what was there before".utf8)
    static let destination = "/location/file.zip"
    static let destinations = [destination, "/location/copy.zip", "/other/copy.zip"]

    @Test(arguments: cases)
    func `rules 38 to 42, 46, and 54: promised bytes survive every crash, and no wrong bytes are claimed`(
        script: StorageScript, options: StoreOptions
    ) async throws {
        var run = StorageRun(script, options, disk: SimulatedFileSystem(Self.freshDisk()))
        try run.run()
        var seen: Set<Int> = []
        for (index, disk) in run.disk.history.enumerated() {
            // Gives tests of other suites a turn, but rarely, because this suite would otherwise run alone at the end.
            if index.isMultiple(of: 8) { await Task.yield() }
            let promise = run.promise(at: index)
            for crash in disk.crashes {
                let after = disk.after(crash)
                let situation = Self.situation(after, run, promise, isPower: crash != .process)
                guard seen.insert(situation).inserted, Self.checked.insert(situation) else { continue }
                try check(after, run, promise, "after change \(index), \(crash)", isPower: crash != .process)
            }
        }
        #expect(seen.count > 10, "the simulation must reach several situations")
    }

    /// Without an order of names, bytes may be lost but never wrong.
    ///
    /// A checkpoint may be removed before a destination exists, and a file may have two names.
    @Test(arguments: scripts, StoreOptions.all.filter { !$0.isBuffered })
    func `no wrong bytes are claimed where directory entries reach the disk in any order`(
        script: StorageScript, options: StoreOptions
    ) async throws {
        var run = StorageRun(script, options, disk: SimulatedFileSystem(Self.freshDisk()))
        try run.run()
        var seen: Set<Int> = []
        for (index, disk) in run.disk.history.enumerated() {
            await Task.yield()
            var promise = run.promise(at: index)
            promise.power = 0
            for crash in disk.disorders {
                let after = disk.after(crash)
                let situation = Self.situation(after, run, promise, isPower: true, inOrder: false)
                guard seen.insert(situation).inserted, Self.checked.insert(situation) else { continue }
                try check(after, run, promise, "after change \(index), \(crash)", isPower: true, inOrder: false)
            }
        }
        #expect(seen.count > 2, "the simulation must reach several situations")
    }

    private static let checked = CheckedSituations()

    /// Returns a hash value of everything on which a check depends.
    private static func situation(
        _ disk: SimulatedDisk, _ run: StorageRun, _ promise: StorageRun.Promise, isPower: Bool, inOrder: Bool = true
    ) -> Int {
        disk.situation(run.options, run.script.directory, placed(in: run), promise, isPower, inOrder)
    }

    private func check(
        _ disk: SimulatedDisk, _ run: StorageRun, _ promise: StorageRun.Promise, _ moment: String, isPower: Bool,
        inOrder: Bool = true
    ) throws {
        let system = SimulatedFileSystem(disk, behavior: .init(remembers: false))
        let store = run.store(on: system, boot: promise.boot + (isPower ? 1 : 0))
        // Without syncs, a loss of power may cost the bytes of a file that was just renamed, which the policy accepts.
        if !isPower || run.options.durability == .powerLoss {
            checkDestinations(disk, promise, moment)
        }
        // Rule 60: a record proves the bytes, regardless of what was synced.
        for path in Self.destinations where store.finishedFile(at: path) != nil {
            #expect(isWhole(path, disk), "\(moment): the record at \(path) is wrong")
        }
        // A loss of power leaves a subset of the same files.
        if !isPower { _ = try store.unfinished(in: run.script.directory, trustsDestinations: false) }
        let partial = try store.open(.sample(in: run.script.directory))
        var kept: Int64 = 0
        var received = IntervalSet()
        var object = SampleObject.second
        if case .bytes(let representation, let found) = partial.finding {
            object = try #require(SampleObject(representation), "\(moment)")
            (received, kept) = (found, found.count)
            for range in found.ranges {
                #expect(try partial.bytes(range) == object.bytes(range), "\(moment): claimed bytes are missing")
            }
        } else {
            try partial.begin(object.representation)
        }
        let promised = isPower ? promise.power : promise.process
        if promise.placed == nil, !(promise.isPlacing && isWhole(Self.placed(in: run), disk)) {
            #expect(kept >= promised, "\(moment): only \(kept) of \(promised) bytes were found")
        }
        try partial.finish(object, received, at: Self.destination)
        #expect(system.disk.bytes(at: Self.destination) == object.bytes(), "\(moment): the finished file is wrong")
        if !inOrder {
            // A file may remain beside a checkpoint that was removed, or without its lock file.
            _ = try store.removeLeftovers(
                in: run.script.directory, writtenBefore: HTTPDate(secondsSinceEpoch: 1))
        }
        #expect(try system.names(in: run.script.directory).allSatisfy { !$0.hasPrefix(".") }, "\(moment): leftovers")
    }

    private func checkDestinations(_ disk: SimulatedDisk, _ promise: StorageRun.Promise, _ moment: String) {
        let content = disk.bytes(at: Self.destination)
        #expect(
            content == Self.old || isWhole(Self.destination, disk),
            "\(moment): the destination is neither old nor whole")
        if let placed = promise.placed {
            #expect(isWhole(placed, disk), "\(moment): the finished file is missing")
        }
        for path in Self.destinations.dropFirst() {
            #expect(disk.bytes(at: path) == nil || isWhole(path, disk), "\(moment): \(path) is not whole")
        }
    }

    private func isWhole(_ path: String, _ disk: SimulatedDisk) -> Bool {
        SampleObject.allCases.contains { $0.bytes() == disk.bytes(at: path) }
    }

    private static func placed(in run: StorageRun) -> String {
        for case .place(let destinations) in run.script.steps { return destinations[0] }
        return destination
    }

    static func freshDisk() -> SimulatedDisk {
        var disk = SimulatedDisk()
        disk.directories.formUnion(["/location", "/elsewhere", "/other"])
        disk.addFile(destination, old)
        return disk
    }
}

extension SimulatedDisk {
    /// Adds a file with durable bytes and a durable name.
    mutating func addFile(_ path: String, _ bytes: [UInt8]) {
        let node = addNode()
        nodes[node]?.bytes = bytes
        nodes[node]?.durable = bytes
        names[path] = node
        durableNames[path] = node
    }

    /// Returns the bytes of the file at `path`.
    func bytes(at path: String) -> [UInt8]? { names[path].flatMap { nodes[$0]?.bytes } }
}
