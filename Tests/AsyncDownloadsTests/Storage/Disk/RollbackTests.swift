internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Bytes that turn out to be worth nothing after they were recorded (rules 30, 35 and 38).
@Suite(.endsWhenHung)
struct RollbackTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test
    func `what a checkpoint and its marks have claimed is claimed no more`() throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet(0..<200))
        // The process that dies here closes nothing.
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<200)))
        withExtendedLifetime(partial) {}
    }

    @Test
    func `a save after it does not bring back what a mark said`() throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet(0..<200))
        try partial.write(.first, 200..<250)
        partial.mark(IntervalSet(0..<250))
        try partial.save(IntervalSet(0..<200))
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<250)))
        withExtendedLifetime(partial) {}
    }

    @Test(arguments: [0, 100, 200])
    func `a mark that comes late and says no more than the checkpoint takes nothing from it`(_ count: Int64) throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet(0..<200))
        partial.mark(IntervalSet(0..<count))
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<200)))
        withExtendedLifetime(partial) {}
    }

    @Test
    func `when nothing is left to claim there is no checkpoint`() throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet())
        #expect(try !directory.contents.contains { $0.hasSuffix(PartialNames.checkpointSuffix) })
        try partial.begin(SampleObject.second.representation)
        try partial.finish(.second, IntervalSet(), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.second.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test
    func `where nothing was recorded nothing is`() throws {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        let contents = try directory.contents
        try partial.rollBack(to: IntervalSet())
        #expect(try directory.contents == contents)
    }

    private var store: DiskStore {
        DiskStore(disk: PretendingFileSystem(locks: .pretended), durability: .powerLoss, bootID: "boot")
    }

    /// A partial whose checkpoint claims 300 bytes, and whose mark claims 500.
    private func recorded() throws -> any Partial {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<500)
        try partial.save(IntervalSet(0..<300))
        partial.mark(IntervalSet(0..<500))
        return partial
    }

    private func found() throws -> PartialFinding { try store.open(directory.location).finding }
}
