internal import Dispatch
internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of short files that are made durable with shared syncs.
@Suite("Placements with shared syncs", .endsWhenHung)
struct LockFilePlacementTests {
    let directory: TemporaryDirectory
    let log = SyncLog()

    init() throws { directory = try TemporaryDirectory() }

    @Test func `files that come while the disk syncs become one group`() async throws {
        let placements = PlacementLog()
        let partials = try open(9, in: try store())
        // The first file is synced alone, and then waits until the others have been added.
        await placeWhileBlocked(partials, placements)
        let results = await placements.results(count: 9)
        for (partial, result) in zip(partials, results) {
            #expect(try result.get() == partial.destination)
            #expect(directory.bytes(at: partial.destination) == SampleObject.first.bytes())
        }
        #expect(try directory.contents.count == 9)
        #expect(log.fileNames == partials.map(\.lockName))
        #expect(log.directoryCount == 2, "one sync for the first file, and one for the eight others")
    }

    @Test func `rule 45: a file that cannot be synced fails alone, and its bytes can be placed later`() async throws {
        let placements = PlacementLog()
        let partials = try open(3, in: try store())
        log.fail(partials[1].lockName, times: 1)
        await placeWhileBlocked(partials, placements)
        let results = await placements.results(count: 3)
        let placed = results.compactMap { try? $0.get() }
        #expect(placed == [partials[0].destination, partials[2].destination])
        #expect(directory.bytes(at: partials[1].destination) == nil)
        place(partials[1...1], placements)
        #expect(try await placements.results(count: 4)[3].get() == partials[1].destination)
        #expect(directory.bytes(at: partials[1].destination) == SampleObject.first.bytes())
    }

    @Test func `rule 45: a directory that cannot be synced is the failure of all files of the group`() async throws {
        let placements = PlacementLog()
        let partials = try open(3, in: try store())
        await placeWhileBlocked(partials, placements) { log.failDirectory(sync: 2) }
        let results = await placements.results(count: 3)
        #expect(try results[0].get() == partials[0].destination)
        for result in results[1...] { #expect(throws: DownloadError.self) { try result.get() } }
    }

    @Test(arguments: [true, false])
    func `a target in another directory waits for no group`(sharesSyncs: Bool) async throws {
        let placements = PlacementLog()
        let partials = try open(2, in: try store(sharesSyncs ? .diskWithSharedSyncs : .disk))
        log.block(partials[0].lockName)
        place(partials[...0], placements)
        await log.isBlocked()
        let other = "\(directory.path)/other/file"
        place(partials[1...], placements, at: sharesSyncs ? PlacementTarget(path: other) : nil)
        #expect(try await placements.results(count: 1)[0].get() == (sharesSyncs ? other : partials[1].destination))
        log.unblock()
        #expect(try await placements.results(count: 2)[1].get() == partials[0].destination)
    }

    @Test(arguments: [true, false])
    func `rule 55: a file that is no longer wanted when it is synced gets no name`(isGrouped: Bool) async throws {
        let partial = try #require(try open(1, in: try store(isGrouped ? .diskWithSharedSyncs : .disk)).first)
        let isWanted = Mutex(true)
        let hasEnded = Mutex(false)
        log.block(partial.lockName)
        let target = PlacementTarget(path: partial.destination)
        let results = partial.partial.place(
            at: [target], length: 1000,
            ifWanted: { isWanted.withLock { $0 } },
            completion: { outcomes in
                #expect(outcomes.isEmpty)
                hasEnded.withLock { $0 = true }
            })
        #expect(results == nil)
        await log.isBlocked()
        isWanted.withLock { $0 = false }
        log.unblock()
        while !hasEnded.withLock({ $0 }) { await Task.yield() }
        #expect(try directory.contents == [partial.lockName])
        #expect(directory.bytes(at: "\(directory.path)/\(partial.lockName)") == [])
        partial.partial.discard()
        #expect(try directory.contents == [])
    }

    @Test func `a file whose name another thread decides about keeps no others waiting`() async throws {
        let placements = PlacementLog()
        let partials = try open(3, in: try store())
        let names = DirectoryNames()
        let (isDeciding, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let target = PlacementTarget(
            .directory(directory.path, name: "file0", isCallers: true), resource: "a", names: names,
            isFree: { _ in true })
        BlockingThreads.run { [path = directory.path] in
            names.withTurn("file0", in: path) {
                isDeciding.signal()
                mayEnd.wait()
            }
        }
        await signaled(isDeciding)
        place(partials[...0], placements, at: target)
        place(partials[1...], placements)
        let results = await placements.results(count: 2)
        #expect(try results.map { try $0.get() } == partials[1...].map(\.destination))
        mayEnd.signal()
        #expect(try await placements.results(count: 3)[2].get() == partials[0].destination)
        #expect(directory.bytes(at: partials[0].destination) == SampleObject.first.bytes())
    }

    @Test func `a directory that can't be opened is synced after the next group has closed its files`() async throws {
        let placements = PlacementLog()
        let partials = try open(3, in: try store())
        log.block(partials[0].lockName)
        place(partials[...0], placements)
        await log.isBlocked()
        place(partials[1...], placements)
        // The lock files are closed when the files have their names.
        let names = Mutex<[String]>([])
        log.failDirectory(sync: 1, .tooManyOpenFiles) { [directory] in
            names.withLock { $0 = (try? directory.contents) ?? [] }
        }
        log.unblock()
        for result in await placements.results(count: 3) { _ = try result.get() }
        #expect(log.directoryCount == 3, "the failed one, and one for each group")
        #expect(names.withLock { $0 } == ["file0", "file1", "file2"])
    }

    @Test func `a file whose name has to be chosen keeps no others waiting, and one that replaces is grouped`()
        async throws
    {
        for (isCallers, isGrouped) in [(false, false), (true, true)] {
            try Data("other".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/name"))
            let partial = try #require(try open(1, in: try store()).first)
            let target = PlacementTarget(
                .directory(directory.path, name: "name", isCallers: isCallers), resource: "a", names: DirectoryNames(),
                isFree: { _ in true })
            let placement = try lockFilePlacement(of: partial.partial, at: target)
            #expect(placement.mayNamingTakeLong == !isGrouped)
            let placements = PlacementLog()
            place([partial], placements, at: target)
            let path = try await placements.results(count: 1)[0].get()
            #expect(PartialNames.lastComponent(of: path) == (isCallers ? "name" : "name-2"))
            #expect(directory.bytes(at: path) == SampleObject.first.bytes())
        }
    }

    @Test func `bytes whose lock file was removed are placed as a file of another name`() async throws {
        let placements = PlacementLog()
        let partials = try open(2, in: try store())
        log.block(partials[0].lockName)
        place(partials, placements)
        await log.isBlocked()
        try FileManager.default.removeItem(atPath: "\(directory.path)/\(partials[0].lockName)")
        log.unblock()
        for result in await placements.results(count: 2) { _ = try result.get() }
        for partial in partials { #expect(directory.bytes(at: partial.destination) == SampleObject.first.bytes()) }
    }

    @Test func `volumes don't wait for each other`() async throws {
        let placements = PlacementLog()
        let store = try store()
        let partials = try open(2, in: store)
        log.block(partials[0].lockName)
        for (volume, partial) in zip([1, 2] as [UInt64], partials) {
            let target = PlacementTarget(path: partial.destination)
            let placement = try lockFilePlacement(of: partial.partial, at: target)
            placement.run(on: volume, ifWanted: { true }) { placements.add($0[0]) }
            if volume == 1 { await log.isBlocked() }
        }
        #expect(try await placements.results(count: 1)[0].get() == partials[1].destination)
        log.unblock()
        #expect(try await placements.results(count: 2)[1].get() == partials[0].destination)
    }

    @Test func `without durability against a loss of power, a placement has its result at once`() throws {
        let partial = try #require(try open(1, in: try store(durability: .processCrash)).first)
        let target = PlacementTarget(path: partial.destination)
        for isWanted in [false, true] {
            let results = partial.partial.place(at: [target], length: 1000, ifWanted: { isWanted }) { _ in
                Issue.record("called although the results were returned")
            }
            #expect(try results?.first?.get() == (isWanted ? partial.destination : nil))
        }
        #expect(log.fileNames.isEmpty)
    }

    /// A file is whole after any loss of power that follows its result, and until then, it is whole or absent.
    @Test func `rules 38 and 45: files of a group survive a loss of power after their results`() async throws {
        var disk = SimulatedDisk()
        disk.directories.insert("/location")
        let (isBlocked, mayContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let system = SimulatedFileSystem(disk, behavior: .init(volume: .diskWithSharedSyncs))
        let store = PartialStore(
            disk: system, durability: .powerLoss, bootID: "boot", bufferedLength: SampleObject.length)
        let partials = try open(3, in: store, directory: "/location")
        // The two parts of the first file's write and its record are followed by its sync.
        system.behave(
            .init(
                volume: .diskWithSharedSyncs,
                interruption: (
                    change: 3,
                    body: {
                        isBlocked.signal()
                        mayContinue.wait()
                    }
                )))
        let placements = PlacementLog()
        let ends = Mutex<[String: Int]>([:])
        for partial in partials {
            let target = PlacementTarget(path: partial.destination)
            let results = partial.partial.place(at: [target], length: 1000, ifWanted: { true }) { results in
                ends.withLock { $0[partial.destination] = system.history.count - 1 }
                placements.add(results[0])
            }
            #expect(results == nil)
            if partial.destination == partials[0].destination { await signaled(isBlocked) }
        }
        mayContinue.signal()
        for result in await placements.results(count: 3) { _ = try result.get() }
        let endings = ends.withLock { $0 }
        var crashCount = 0
        for (index, disk) in system.history.enumerated() {
            for crash in disk.crashes {
                let after = disk.after(crash)
                crashCount += 1
                for partial in partials {
                    let bytes = after.bytes(at: partial.destination)
                    let isDurable = try #require(endings[partial.destination]) <= index
                    #expect(
                        bytes == SampleObject.first.bytes() || (bytes == nil && !isDurable),
                        "\(partial.destination) after change \(index), \(crash)")
                }
            }
        }
        #expect(crashCount > 50)
        #expect(try system.names(in: "/location").allSatisfy { !$0.hasPrefix(".") })
    }
}
