internal import Dispatch
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of bodies on their way from memory to disk and from there to a file: they are always in one of these places.
@Suite(.endsWhenHung)
struct BodyMoveTests {
    private let directory: TemporaryDirectory
    private let bodies = PartialBodyStore(byteLimit: 1 << 20)

    init() throws { directory = try TemporaryDirectory() }

    private var spill: String { directory.path + "/spill" }

    private static var representation: Representation {
        var representation = SampleObject.first.representation
        representation.validator = Validator(rawValue: "\"a\"")
        return representation
    }

    private func location(_ name: String) -> PartialLocation {
        PartialLocation(
            directory: spill, baseName: PartialLocation.spilledName,
            request: RequestRecord(url: "https://a.example/\(name)", destination: ""), medium: .memory)
    }

    private func fileLocation(_ name: String) -> PartialLocation {
        PartialLocation(
            directory: directory.path, baseName: name,
            request: RequestRecord(url: "https://a.example/\(name)", destination: name))
    }

    private static func body(_ count: Int64 = 600) -> MemoryBody {
        var body = MemoryBody(representation)
        SampleObject.first.bytes(0..<count).withUnsafeBytes { body.write($0, at: 0) }
        return body
    }

    private func store(_ disk: any FileSystem = POSIXFileSystem()) -> PartialStore {
        PartialStore(disk: disk, durability: .powerLoss, bootID: "boot").keeping(bodies, spilledIn: spill)
    }

    @Test func `a body can be taken while it moves to disk, and is then nowhere else`() throws {
        var files = PretendingFileSystem(locks: .working {})
        let (bodies, location) = (bodies, location("a"))
        let taken = Mutex<MemoryBody?>(nil)
        files.syncing = { name in
            if name.hasSuffix(".partial") {
                let body = bodies.take(location)
                taken.withLock { $0 = body ?? $0 }
            }
            return nil
        }
        let store = store(files)
        bodies.keep(Self.body(), of: location, on: store)
        #expect(bodies.releaseAll(to: store).isEmpty)
        #expect(taken.withLock { $0?.received } == IntervalSet(0..<600))
        #expect(bodies.byteCount == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: spill).isEmpty)
    }

    @Test func `bodies that wait for their turn to move can be taken`() throws {
        var files = PretendingFileSystem(locks: .working {})
        let (bodies, locations) = (bodies, ["a", "b", "c"].map { location($0) })
        let held = Mutex<[Bool]>([])
        files.syncing = { name in
            if name.hasSuffix(".partial") { held.withLock { $0 = $0.isEmpty ? locations.map(bodies.holds) : $0 } }
            return nil
        }
        let store = store(files)
        for location in locations { bodies.keep(Self.body(), of: location, on: store) }
        #expect(bodies.releaseAll(to: store).map(\.isOnDisk) == [true, true, true])
        #expect(held.withLock { $0 } == [true, true, true])
        #expect(bodies.byteCount == 0)
    }

    @Test func `the directory is listed once, however many bodies move there`() throws {
        let disk = CountingFileSystem()
        let small = PartialBodyStore(byteLimit: 0)
        let store = PartialStore(disk: disk, durability: .processCrash, bootID: "boot")
            .keeping(small, spilledIn: spill)
        for number in 0..<20 { small.keep(Self.body(), of: location("\(number)"), on: store) }
        #expect(disk.listings == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: spill).count { $0.hasSuffix(".partial") } == 20)
    }

    @Test func `a body that is in use does not count, and removes no other`() throws {
        let small = PartialBodyStore(byteLimit: 0, diskByteLimit: 1500)
        let store = PartialStore(durability: .processCrash).keeping(small, spilledIn: spill)
        for name in ["a", "b"] { small.keep(Self.body(), of: location(name), on: store) }
        let used = try store.open(location("a"))
        #expect(used.finding.received == IntervalSet(0..<600))
        small.keep(Self.body(), of: location("c"), on: store)
        for name in ["b", "c"] {
            let partial = try store.open(location(name))
            #expect(partial.finding.received == IntervalSet(0..<600), "\(name)")
            partial.discard()
        }
        used.discard()
    }

    @Test func `a body that cannot be anywhere is reported as lost`() throws {
        let small = PartialBodyStore(byteLimit: 100)
        let store = PartialStore(durability: .processCrash).keeping(small, spilledIn: spill)
        var location = location("a")
        // Without an account, nothing on disk would identify the user.
        location.secretHeaders = ["Authorization": "secret"]
        let partial = try store.open(location)
        try partial.begin(Self.representation)
        try partial.write(.first, 0..<600)
        partial.mark(IntervalSet(0..<600))
        #expect(partial.close().isEmpty)
        #expect(small.byteCount == 0)
    }

    @Test func `a body that can't be opened for its removal is removed later`() throws {
        let small = PartialBodyStore(byteLimit: 0, diskByteLimit: 1000)
        let plain = PartialStore(durability: .processCrash).keeping(small, spilledIn: spill)
        small.keep(Self.body(), of: location("a"), on: plain)
        let lock = plain.names(of: location("a").onDisk).lock
        var files = PretendingFileSystem(locks: .working {})
        files.refusal = { path, _ in path == lock ? .tooManyOpenFiles : nil }
        let store = PartialStore(disk: files, durability: .processCrash, bootID: POSIXFileSystem.bootID())
            .keeping(small, spilledIn: spill)
        small.keep(Self.body(), of: location("b"), on: store)
        #expect(["a", "b"].map { plain.holds(location($0)) } == [true, true])
        small.keep(Self.body(), of: location("c"), on: plain)
        #expect(["a", "b", "c"].map { plain.holds(location($0)) } == [false, false, true])
    }

    @Test func `a body that is used between its choice for removal and the removal is kept`() async throws {
        let small = PartialBodyStore(byteLimit: 0, diskByteLimit: 1000)
        let plain = PartialStore(durability: .processCrash).keeping(small, spilledIn: spill)
        let location = location("a").onDisk
        let names = plain.names(of: location)
        small.keep(Self.body(), of: location, on: plain)
        let hasClosed = DispatchGroup()
        let isUsed = Mutex(false)
        var files = PretendingFileSystem(locks: .working {})
        files.refusal = { path, _ in
            guard path == names.lock,
                !isUsed.withLock({ used in
                    defer { used = true }; return used
                })
            else { return nil }
            do {
                let partial = try plain.openFile(location)
                small.spilled.opened(location, in: plain)
                // Recording the closed body waits for the removal.
                DispatchQueue(label: "closes").async(group: hasClosed) { partial.close() }
                while true {
                    guard let lock = try? PartialLock.acquire(names, on: POSIXFileSystem()) else { continue }
                    lock.release(removing: false)
                    return nil
                }
            } catch {
                Issue.record(error)
                return nil
            }
        }
        let store = PartialStore(disk: files, durability: .processCrash, bootID: POSIXFileSystem.bootID())
            .keeping(small, spilledIn: spill)
        small.keep(Self.body(), of: self.location("b"), on: store)
        await withCheckedContinuation { continuation in
            hasClosed.notify(queue: .global()) { continuation.resume() }
        }
        #expect(isUsed.withLock { $0 })
        // Its record is the newest one now, so that the other body has been removed.
        #expect(["a", "b"].map { plain.holds(self.location($0)) } == [true, false])
    }

    @Test func `a clock in the future removes no bodies`() throws {
        let time = ManualTimeSource()
        let small = PartialBodyStore(byteLimit: 0, diskByteLimit: 1 << 20, diskAge: .seconds(100), time: time)
        let store = PartialStore(durability: .processCrash).keeping(small, spilledIn: spill)
        small.keep(Self.body(), of: location("a"), on: store)
        // The date jumps, and no time elapses.
        time.moveDate(by: 1_000_000)
        small.keep(Self.body(), of: location("b"), on: store)
        #expect(store.holds(location("a")))
        time.advance(by: .seconds(101))
        small.keep(Self.body(), of: location("c"), on: store)
        #expect(["a", "b", "c"].map { store.holds(location($0)) } == [false, false, true])
    }

    @Test(arguments: [false, true])
    func `a file continues a spilled body with all its ranges, also on another volume`(_ isOnOtherVolume: Bool) throws {
        let disk = SimulatedFileSystem(CrashTests.freshDisk())
        let store = PartialStore(disk: disk, durability: .powerLoss, bootID: "boot")
            .keeping(bodies, spilledIn: isOnOtherVolume ? "/other" : "/location/spill")
        var ranges = IntervalSet(0..<300)
        ranges.insert(500..<700)
        let spilled = fileLocation("a").spilled(to: store.spillDirectory)
        let body = try store.open(spilled)
        try body.begin(Self.representation)
        try body.write(.first, 0..<300)
        try body.write(.first, 500..<700)
        try body.save(ranges)
        body.close()
        var location = fileLocation("a")
        location.directory = "/location"
        let partial = try store.open(location)
        #expect(partial.finding == .bytes(Self.representation, ranges))
        #expect(!store.holds(spilled))
        partial.close()
        let again = try PartialStore(disk: disk, durability: .powerLoss, bootID: "boot").open(location)
        #expect(again.finding == .bytes(Self.representation, ranges))
        #expect(try again.bytes(500..<700) == SampleObject.first.bytes(500..<700))
        again.discard()
        #expect(try disk.names(in: store.spillDirectory).allSatisfy { !$0.hasPrefix(".body") })
    }
}
