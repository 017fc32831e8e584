internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of bytes that turn out to be unusable after they were recorded (rules 30, 35, and 38).
@Suite(.endsWhenHung)
struct RollbackTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `a rollback reduces what the checkpoint and its marks claim`() throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet(0..<200))
        // The first process ends without closing its files.
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<200)))
        withExtendedLifetime(partial) {}
    }

    @Test func `a save after a rollback does not restore an earlier mark`() throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet(0..<200))
        try partial.write(.first, 200..<250)
        partial.mark(IntervalSet(0..<250))
        try partial.save(IntervalSet(0..<200))
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<250)))
        withExtendedLifetime(partial) {}
    }

    @Test(arguments: [0, 100, 200])
    func `a late mark that claims no more than the checkpoint is ignored`(_ count: Int64) throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet(0..<200))
        partial.mark(IntervalSet(0..<count))
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<200)))
        withExtendedLifetime(partial) {}
    }

    @Test func `a late mark of an earlier epoch is ignored, also by the next save`() throws {
        let partial = try recorded()
        partial.mark(IntervalSet(0..<400), epoch: 0)
        try partial.rollBack(to: IntervalSet(0..<200), epoch: 1)
        partial.mark(IntervalSet(0..<500), epoch: 0)
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<200)))
        withExtendedLifetime(partial) {}
    }

    @Test func `a save does not write a mark of an earlier epoch`() throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet(0..<200), epoch: 1)
        partial.mark(IntervalSet(0..<500), epoch: 0)
        try partial.save(IntervalSet(0..<210))
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<210)))
        withExtendedLifetime(partial) {}
    }

    @Test func `a mark that was decided after a rollback may arrive before it`() throws {
        let partial = try recorded()
        partial.mark(IntervalSet(0..<250), epoch: 1)
        try partial.rollBack(to: IntervalSet(0..<200), epoch: 1)
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<250)))
        withExtendedLifetime(partial) {}
    }

    @Test func `a mark that was overtaken by a later one is ignored`() throws {
        let partial = try recorded()
        partial.mark(IntervalSet(0..<400), epoch: 0)
        try partial.save(IntervalSet(0..<350))
        #expect(try found() == .bytes(SampleObject.first.representation, IntervalSet(0..<500)))
        withExtendedLifetime(partial) {}
    }

    @Test func `a rollback keeps ranges behind the removed one`() throws {
        let partial = try recorded()
        var rest = IntervalSet(0..<100)
        rest.insert(200..<300)
        try partial.rollBack(to: rest)
        #expect(try found() == .bytes(SampleObject.first.representation, rest))
        withExtendedLifetime(partial) {}
    }

    @Test func `a rollback in place claims no bytes beyond the remaining ones`() throws {
        let partial = try recorded()
        var rest = IntervalSet(0..<100)
        rest.insert(200..<700)
        #expect(partial.rollBackInPlace(to: rest))
        rest = IntervalSet(0..<100)
        rest.insert(200..<300)
        #expect(try found() == .bytes(SampleObject.first.representation, rest))
        withExtendedLifetime(partial) {}
    }

    @Test func `a rollback to no bytes removes the checkpoint`() throws {
        let partial = try recorded()
        try partial.rollBack(to: IntervalSet())
        #expect(try !directory.contents.contains { $0.hasSuffix(PartialNames.checkpointSuffix) })
        try partial.begin(SampleObject.second.representation)
        try partial.finish(.second, IntervalSet(), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.second.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `a rollback without a checkpoint does nothing`() throws {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        let contents = try directory.contents
        try partial.rollBack(to: IntervalSet())
        #expect(try directory.contents == contents)
    }

    private var store: PartialStore {
        PartialStore(disk: PretendingFileSystem(locks: .pretended), durability: .powerLoss, bootID: "boot")
    }

    /// Returns a partial whose checkpoint claims 300 bytes, and whose mark claims 500.
    private func recorded() throws -> PartialFile {
        let partial = try store.open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<500)
        try partial.save(IntervalSet(0..<300))
        partial.mark(IntervalSet(0..<500))
        return partial
    }

    private func found() throws -> PartialFinding { try store.open(directory.location).finding }
}
