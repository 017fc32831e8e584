internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the operating system's files.
@Suite(.endsWhenHung) struct POSIXFileSystemTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func path(_ name: String) -> String { "\(directory.path)/\(name)" }

    /// Writes `count` bytes at an offset.
    private func write(_ count: Int, at offset: Int64, to file: OpenFile, _ files: POSIXFileSystem) throws(FileFailure)
    {
        let result = [UInt8](repeating: 7, count: count).withUnsafeBytes { bytes in
            Result { () throws(FileFailure) in try files.write(bytes, to: file, at: offset) }
        }
        try result.get()
    }

    @Test func `rule 45: a sync that is started and then completed reports a failure of either step`() throws {
        let files = POSIXFileSystem()
        let opened = try files.open(path("a"), .new)
        defer { files.close(opened) }
        try write(1000, at: 0, to: opened, files)
        try files.startSynchronizing(opened)
        try files.synchronize(opened)
        // No descriptor of this process has such a number.
        let closed = OpenFile(number: .max, name: "closed")
        for sync in [files.startSynchronizing, files.synchronize] as [(OpenFile) throws(FileFailure) -> Void] {
            let failure = #expect(throws: FileFailure.self) { try sync(closed) }
            #expect(failure?.operation == "sync")
        }
    }

    @Test func `rule 44: nothing is written beyond the process's limit on file sizes`() throws {
        let files = POSIXFileSystem(sizeLimit: { 1000 })
        let file = try files.open(path("file"), .new)
        defer { files.close(file) }
        try write(600, at: 0, to: file, files)
        for (offset, count) in [(600, 401), (1000, 1), (.max, 1)] as [(Int64, Int)] {
            let failure = #expect(throws: FileFailure.self) { try write(count, at: offset, to: file, files) }
            #expect(failure?.kind == .noSpace)
        }
        #expect(try files.information(of: file).size == 600)
        try write(400, at: 600, to: file, files)
        #expect(try files.information(of: file).size == 1000)
        #expect(try #require(try files.availableSpace(in: directory.path)) <= 1000)
    }

    @Test func `the allocated size of a file with a gap is that of its blocks`() throws {
        let files = POSIXFileSystem()
        let file = try files.open(path("file"), .new)
        defer { files.close(file) }
        try write(100_000, at: 50_000_000, to: file, files)
        try files.synchronize(file)
        let size = try files.information(of: file).allocatedSize
        #expect(size >= 100_000)
        #expect(size < 50_000_000)
        #expect(try files.information(at: path("file"))?.allocatedSize == size)
    }

    @Test func `the creation mask that a new file shows is that of the process`() throws {
        let path = path("file")
        let number = systemOpen(path, O_WRONLY | O_CREAT | O_EXCL, 0o666)
        try #require(number >= 0)
        defer { _ = systemClose(number) }
        let files = POSIXFileSystem()
        let permissions = try #require(try files.information(at: path)).permissions
        #expect(POSIXFileSystem.observedCreationMask().map { 0o666 & ~$0 } == mode_t(permissions))
        #expect(files.ordinaryPermissions == permissions)
    }

    @Test func `the limit on file sizes is that of the process`() throws {
        var limit = rlimit()
        #if canImport(Darwin) || canImport(Musl)
        getrlimit(RLIMIT_FSIZE, &limit)
        #else
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        #endif
        let expected = limit.rlim_cur < UInt64(Int64.max) ? Int64(limit.rlim_cur) : nil
        #expect(POSIXFileSystem.systemSizeLimit() == expected)
    }

    @Test func `rule 64: an ordinary volume does not restrict names, also below a directory that does not exist`() {
        let files = POSIXFileSystem()
        for name in [directory.path, path("missing/deeper"), "/", "missing"] {
            #expect(!files.restrictsNames(in: name))
        }
        #expect(files.acceptedName("a:b?", in: directory.path) == "a:b?")
    }

    #if !canImport(Darwin)
    /// The numbers of FAT, exFAT, the kernel's two drivers of NTFS, CIFS, and SMB 2; of ext4, tmpfs, NFS, FUSE, and HFS+.
    @Test func `rule 64: volumes of Windows restrict names`() {
        for type: UInt32 in [0x4D44, 0x2011_BAB0, 0x5346_544E, 0x7366_746E, 0xFF53_4D42, 0xFE53_4D42] {
            #expect(POSIXFileSystem.restrictsNames(ofType: type))
        }
        for type: UInt32 in [0xEF53, 0x0102_1994, 0x6969, 0x6573_5546, 0x482B] {
            #expect(!POSIXFileSystem.restrictsNames(ofType: type))
        }
    }
    #endif
}
