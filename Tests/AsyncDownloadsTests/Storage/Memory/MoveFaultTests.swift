internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of a body that moves to disk while a call fails: its bytes, and those at the location, are not lost.
@Suite(.endsWhenHung)
struct MoveFaultTests {
    private static var representation: Representation {
        var representation = SampleObject.first.representation
        representation.validator = Validator(rawValue: "\"a\"")
        return representation
    }

    private static func body(_ count: Int64) -> MemoryBody {
        var body = MemoryBody(representation)
        SampleObject.first.bytes(0..<count).withUnsafeBytes { body.write($0, at: 0) }
        return body
    }

    private static let location = PartialLocation(
        directory: "/location", baseName: "file.bin",
        request: RequestRecord(url: "https://a.example/one", destination: "file.bin"))

    @Test(arguments: [FileFailure.Kind.noSpace, .other, .tooManyOpenFiles])
    func `whichever call fails, the body and the bytes at the location are kept`(_ kind: FileFailure.Kind) throws {
        var failureCount = 0
        for change in 1...20 {
            let disk = SimulatedFileSystem(CrashTests.freshDisk())
            let bodies = PartialBodyStore(byteLimit: 1 << 20)
            let store = PartialStore(disk: disk, durability: .powerLoss, bootID: "boot")
                .keeping(bodies, spilledIn: "/location/spill")
            let present = try store.openFile(Self.location)
            try present.begin(Self.representation)
            try present.write(.first, 0..<300)
            try present.save(IntervalSet(0..<300))
            present.close()
            bodies.keep(Self.body(600), of: Self.location.spilled(to: "/location/spill"), on: store)
            disk.behave(.init(fault: .init(change: change, kind: kind)))
            let partial = try? store.open(Self.location)
            if bodies.byteCount > 0 || partial == nil { failureCount += 1 }
            partial?.close()
            disk.behave(.init())
            let later = try store.open(Self.location)
            #expect(later.finding == .bytes(Self.representation, IntervalSet(0..<600)), "change \(change)")
            #expect(try later.bytes(0..<600) == SampleObject.first.bytes(0..<600))
            later.discard()
        }
        #expect(failureCount > 0)
    }

    /// The checkpoint at the location is replaced before the file is moved there, and written again after a failure.
    @Test(arguments: [FileFailure.Kind.noSpace, .other])
    func `whichever call fails, a mark that follows a failed move is found after a crash`(
        _ kind: FileFailure.Kind
    ) throws {
        var failureCount = 0
        for change in 1...20 {
            let disk = SimulatedFileSystem(CrashTests.freshDisk())
            let store = PartialStore(disk: disk, durability: .processCrash, bootID: "boot")
                .keeping(PartialBodyStore(byteLimit: 1 << 20), spilledIn: "/location/spill")
            for (location, end) in [(Self.location, 300), (Self.location.spilled(to: "/location/spill"), 600)] {
                let partial = try store.openFile(location)
                try partial.begin(Self.representation)
                try partial.write(.first, 0..<Int64(end))
                try partial.save(IntervalSet(0..<Int64(end)))
                partial.close()
            }
            disk.behave(.init(fault: .init(change: change, kind: kind)))
            guard let partial = try? store.open(Self.location), case .bytes(_, let received) = partial.finding else {
                continue
            }
            disk.behave(.init())
            if received.upperBound == 300 { failureCount += 1 }
            let end = received.upperBound + 50
            try partial.write(.first, received.upperBound..<end)
            partial.mark(IntervalSet(0..<end))
            let later = PartialStore(
                disk: SimulatedFileSystem(disk.disk.after(.process)), durability: .processCrash, bootID: "boot")
            #expect(
                try later.openFile(Self.location).finding == .bytes(Self.representation, IntervalSet(0..<end)),
                "change \(change)")
        }
        #expect(failureCount > 0)
    }

    @Test func `a smaller body replaces no more bytes on disk`() throws {
        let disk = SimulatedFileSystem(CrashTests.freshDisk())
        let bodies = PartialBodyStore(byteLimit: 1 << 20)
        let store = PartialStore(disk: disk, durability: .powerLoss, bootID: "boot")
            .keeping(bodies, spilledIn: "/location/spill")
        let spilled = Self.location.spilled(to: "/location/spill")
        for count in [500, 10] as [Int64] {
            bodies.keep(Self.body(count), of: spilled, on: store)
            #expect(bodies.releaseAll(to: store).map(\.isOnDisk) == [true])
        }
        #expect(try store.openFile(spilled).finding == .bytes(Self.representation, IntervalSet(0..<500)))
    }

    @Test func `bytes that were rolled back are written again after a move`() throws {
        let disk = SimulatedFileSystem(CrashTests.freshDisk())
        let store = PartialStore(disk: disk, durability: .processCrash, bootID: "boot")
            .keeping(PartialBodyStore(byteLimit: 1 << 20), spilledIn: "/location/spill")
        var location = Self.location.spilled(to: "/location/spill")
        location.medium = .memory
        let partial = try store.open(location)
        try partial.begin(Self.representation)
        try partial.write(.second, 0..<600)
        partial.mark(IntervalSet(0..<600), epoch: 0)
        try partial.rollBack(to: IntervalSet(), epoch: 1)
        try partial.write(.first, 0..<500)
        partial.mark(IntervalSet(0..<500), epoch: 1)
        #expect(try partial.move(to: Self.location))
        #expect(partial.close() == IntervalSet(0..<500))
        #expect(try store.openFile(Self.location).bytes(0..<500) == SampleObject.first.bytes(0..<500))
    }
}
