internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of the disk blocks that are allocated for bytes that haven't arrived.
@Suite(.endsWhenHung)
struct AllocatedBlocksTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `boundary 3: a declared length allocates at most one step of disk space`() throws {
        var partial: PartialFile = try PartialStore().open(directory.location)
        try partial.begin(large(2 << 30))
        #expect(try allocated() == 0, "nothing was received")
        try partial.write(.first, 0..<1000)
        #expect(try allocated() <= BlockAllocation.step + (1 << 20))
        try partial.save(IntervalSet(0..<1000))
        partial.close()
        #expect(try allocated() <= BlockAllocation.step + (1 << 20), "a pause")
        partial = try PartialStore().open(directory.location)
        try partial.write(.first, 1000..<2000)
        #expect(try allocated() <= BlockAllocation.step + (1 << 20), "after the pause")
        partial.discard()
        #expect(try directory.contents.isEmpty)
    }

    @Test func `boundary 3: allocated space stays ahead of the bytes and ends with the file`() {
        let (step, length) = (BlockAllocation.step, 5 * BlockAllocation.step / 2)
        var allocation = BlockAllocation()
        #expect(allocation.extend(for: 0..<10, length: length) == 0..<10 + step)
        #expect(allocation.extend(for: 10..<step, length: length) == nil)
        #expect(allocation.extend(for: step..<step + 11, length: length) == 10 + step..<2 * step + 11)
        #expect(allocation.extend(for: step + 11..<2 * step + 12, length: length) == 2 * step + 11..<length)
        #expect(allocation.extend(for: length - 1..<length, length: length) == nil)
        #expect(allocation.extend(for: length..<length + 5, length: length) == length..<length + 5, "too long a body")
        var resumed = BlockAllocation()
        #expect(resumed.extend(for: 500..<1000, length: length) == 500..<1000 + step)
        #expect(resumed.extend(for: length..<Int64.max, length: Int64.max) == length..<Int64.max)
        var unknown = BlockAllocation()
        #expect(unknown.extend(for: 0..<(1 << 40), length: nil) == nil)
        #expect(unknown.extend(for: 0..<10, length: 1000) == nil, "a small file")
    }

    @Test func `boundary 3: nothing is allocated for the bytes between two parts`() throws {
        let (step, partStep) = (BlockAllocation.step, BlockAllocation.partStep)
        let (far, length) = (Int64(12 << 30), Int64(16 << 30))
        var allocation = BlockAllocation()
        #expect(allocation.extend(for: 0..<10, length: length) == 0..<10 + step)
        #expect(allocation.extend(for: far..<far + 5, length: length) == far..<far + 5 + partStep)
        #expect(allocation.extend(for: 10..<step + 11, length: length) == 10 + step..<2 * step + 11)
        #expect(allocation.extend(for: far + 5..<far + 9, length: length) == nil)
        // Up to the blocks that exist.
        #expect(allocation.extend(for: far - 9..<far - 5, length: length) == far - 9..<far)
        let partial = try PartialStore().open(directory.location)
        try partial.begin(large(2 << 30))
        try partial.write(.first, 0..<1000)
        let bytes = [UInt8](repeating: 1, count: 1000)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(DownloadError) in try partial.write(bytes, at: 1 << 30) }
        }
        try result.get()
        #expect(try allocated() <= step + partStep + (1 << 20))
        partial.discard()
    }

    @Test func `boundary 3: nothing is kept if nothing was received`() throws {
        let partial = try PartialStore().open(directory.location)
        var representation = large(1 << 30)
        representation.validator = Validator(rawValue: "\"a\"")
        try partial.begin(representation)
        #expect(try directory.contents.contains { $0.hasSuffix(".checkpoint") })
        #expect(partial.close().isEmpty)
        #expect(try directory.contents.isEmpty)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/shm"), "needs a file system in memory"))
    func `boundary 3: no space is allocated in advance on a file system in memory`() throws {
        let memory = try TemporaryDirectory(in: "/dev/shm")
        let partial = try PartialStore().open(memory.location)
        try partial.begin(large(1 << 30))
        try partial.write(.first, 0..<1000)
        #expect(try allocated(in: memory) <= 1 << 20)
        partial.discard()
    }

    @Test func `boundary 3: a download fails before it writes if its remaining bytes do not fit`() throws {
        let first = try PartialStore().open(directory.location)
        try first.begin(large(1 << 30))
        try first.write(.first, 0..<1000)
        try first.save(IntervalSet(0..<1000))
        first.close()
        var files = PretendingFileSystem(locks: .pretended)
        files.space = 500 << 20
        let store = PartialStore(disk: files, durability: .powerLoss, bootID: nil)
        let partial = try store.open(directory.location)
        let error = #expect(throws: DownloadError.self) { try partial.write(.first, 1000..<2000) }
        #expect(error?.code == .diskFull)
        #expect(partial.close() == IntervalSet(0..<1000))
        let again = try store.open(directory.location)
        let whole = #expect(throws: DownloadError.self) { try again.begin(large(1 << 30)) }
        #expect(whole?.code == .diskFull)
        again.discard()
        #expect(try directory.contents.isEmpty)
    }

    private func large(_ length: Int64) -> Representation {
        var representation = SampleObject.first.representation
        representation.length = length
        return representation
    }

    /// Returns the number of bytes that the partial file takes on its volume.
    private func allocated(in directory: TemporaryDirectory? = nil) throws -> Int64 {
        var status = stat()
        #expect(lstat(try (directory ?? self.directory).partialPath, &status) == 0)
        return Int64(status.st_blocks) * 512
    }
}
