internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// A process that is killed after a file got its chosen name.
extension ChosenNameTests {
    @Test func `boundary 2: the recorded name shows that a process was killed after the rename`() throws {
        let directory = try TemporaryDirectory()
        var location = directory.location
        location.request.destination = "."
        location.request.choosesName = true
        try directory.put([1], at: "\(directory.path)/name.bin")
        let files = CheckpointKeepingFileSystem(path: PartialNames(location).checkpoint)
        let partial = try PartialStore(disk: files, durability: .powerLoss, bootID: "one").open(location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        try partial.save(IntervalSet(0..<1000))
        let target = PlacementTarget(
            .directory(directory.path, name: "name.bin", isCallers: false), resource: "r", names: DirectoryNames(),
            isFree: { _ in true })
        #expect(try partial.place(at: [target], length: 1000)[0].get() == "\(directory.path)/name-2.bin")
        #expect(directory.bytes(at: "\(directory.path)/name-2.bin") == SampleObject.first.bytes())
        // The checkpoint as it is after a kill.
        let bytes = files.bytes.withLock { $0 }
        #expect(try Checkpoint.decode(bytes).checkpoint.chosenName == "name-2.bin")
        let handle = try files.open(PartialNames(location).checkpoint, .new)
        try bytes.withUnsafeBytes { try files.write($0, to: handle, at: 0) }
        files.close(handle)
        let next = try PartialStore().open(location)
        #expect(next.finding == .nothing, "nothing is reported as lost")
        next.close()
        #expect(try directory.contents == ["name-2.bin", "name.bin"])
    }
}
