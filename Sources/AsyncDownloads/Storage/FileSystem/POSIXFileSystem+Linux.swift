#if !canImport(Darwin)
#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension POSIXFileSystem {
    /// Returns an identifier of the current boot of the machine, or nil if the system does not provide one.
    package static func bootID() -> String? {
        guard let text = contents(of: "/proc/sys/kernel/random/boot_id") else { return nil }
        let name = text.prefix { $0 == "-" || $0.isHexDigit }
        return name.isEmpty ? nil : String(name)
    }

    /// Returns the process's file mode creation mask.
    ///
    /// The mask is read from the proc file system, because umask(2) would change the mask for the other threads.
    static func creationMask() -> mode_t {
        guard let text = contents(of: "/proc/self/status"),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Umask:") }),
            let mask = mode_t(line.dropFirst("Umask:".count).filter { !$0.isWhitespace }, radix: 8)
        else { return observedCreationMask() ?? 0o022 }
        return mask
    }

    /// Does nothing, because Linux has no such attributes.
    func setAttributes(ofUnfinished file: OpenFile) {}

    package func synchronize(_ file: OpenFile) throws(FileFailure) {
        _ = try call("sync", file.name) { fsync(file.number) }
    }

    /// Begins to write the file's bytes to the disk.
    ///
    /// The first sync of several files then writes the metadata of all files with one commit of the journal, so that
    /// the other syncs have nothing to write. A failure has to be thrown, because a later sync may succeed although the
    /// bytes were not written (rule 45).
    package func startSynchronizing(_ file: OpenFile) throws(FileFailure) {
        guard let startWriting = Self.startWriting else { return }
        do {
            // 2 is SYNC_FILE_RANGE_WRITE, and a length of 0 means the whole file.
            _ = try call("sync", file.name) { startWriting(file.number, 0, 0, 2) }
        } catch let error where [ENOSYS, EPERM, EINVAL, ESPIPE].contains(error.errno) {
            // A sandbox or a special file may not allow the call. These errors say nothing about the bytes.
        }
    }

    /// The function sync_file_range(2), looked up by name for the same reason as fallocate(2).
    private static let startWriting: SyncFileRange? = dlsym(nil, "sync_file_range").map {
        unsafeBitCast($0, to: SyncFileRange.self)
    }

    private typealias SyncFileRange = @convention(c) (Int32, off_t, off_t, UInt32) -> Int32

    package func setAttribute(_ name: String, to value: [UInt8], of file: OpenFile) throws(FileFailure) {
        guard let setAttribute = Self.setAttribute else { throw Self.failure(ENOSYS, "describe", file.name) }
        _ = try call("describe", file.name) { setAttribute(file.number, name, value, value.count, 0) }
    }

    package func attribute(_ name: String, of file: OpenFile) throws(FileFailure) -> [UInt8]? {
        guard let attribute = Self.attribute else { throw Self.failure(ENOSYS, "read the description of", file.name) }
        return try readAttribute(of: file, absent: ENODATA) { attribute(file.number, name, $0, $1) }
    }

    /// The functions fsetxattr(2) and fgetxattr(2), looked up by name for the same reason as fallocate(2).
    private static let setAttribute: FSetXAttr? = dlsym(nil, "fsetxattr").map {
        unsafeBitCast($0, to: FSetXAttr.self)
    }
    private static let attribute: FGetXAttr? = dlsym(nil, "fgetxattr").map { unsafeBitCast($0, to: FGetXAttr.self) }

    private typealias FSetXAttr =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32) -> Int32
    private typealias FGetXAttr =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer, Int) -> Int

    package func checkWrites(to file: OpenFile) throws(FileFailure) {
        while true {
            let copy: Int32
            do {
                copy = try call("duplicate", file.name) { fcntl(file.number, F_DUPFD_CLOEXEC, 0) }
            } catch let error where error.kind == .tooManyOpenFiles {
                return try synchronize(file)
            }
            // Closing any descriptor of a file makes a network file system send the bytes that it holds back.
            if systemClose(copy) == 0 { return }
            if errno != EINTR { throw Self.failure(errno, "close", file.name) }
        }
    }

    package func preallocate(_ file: OpenFile, _ range: Range<Int64>) throws(FileFailure) {
        guard let fallocate = Self.fallocate else { return }
        // 1 is FALLOC_FL_KEEP_SIZE: the file's size has to show how many bytes were written. Only missing blocks are
        // requested, because ZFS compares the whole request with the free space.
        _ = try call("allocate blocks for", file.name) {
            fallocate(file.number, 1, off_t(range.lowerBound), off_t(range.upperBound - range.lowerBound))
        }
    }

    /// The function fallocate(2), looked up by name because Swift's modules of the C libraries omit it.
    ///
    /// The available posix_fallocate(3) changes the size, and writes zeros if the file system does not support
    /// allocation.
    private static let fallocate: FAllocate? = dlsym(nil, "fallocate").map { unsafeBitCast($0, to: FAllocate.self) }

    private typealias FAllocate = @convention(c) (Int32, Int32, off_t, off_t) -> Int32

    func freeSpace(in directory: String) throws(FileFailure) -> Int64? {
        var status = statvfs()
        _ = try call("examine", directory) { statvfs(directory, &status) }
        // File systems without a fixed size report 0 for everything.
        guard status.f_blocks > 0 else { return nil }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? nil : Int64(clamping: bytes)
    }

    package func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        let copy = try open(path, .new)
        do {
            // FICLONE, a macro that Swift does not import; the number is the same on x86-64 and arm64.
            if ioctl(copy.number, 0x4004_9409, file.number) != 0 {
                try copyBytes(of: file, to: copy)
            }
            return copy
        } catch {
            close(copy)
            try? remove(path)
            throw error
        }
    }

    package func volumeKind(of file: OpenFile) -> VolumeKind {
        Self.volumeType { Self.fstatfs?(file.number, $0) }.map(Self.volumeKind) ?? .other
    }

    func restrictsNames(inExisting directory: String) -> Bool? {
        Self.volumeType { Self.statfs?(directory, $0) }.map(Self.restrictsNames)
    }

    /// Returns the magic number that a system call stores in its buffer; nil if it fails.
    private static func volumeType(_ status: (UnsafeMutableRawPointer) -> Int32?) -> UInt32? {
        withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 16) { buffer in
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            guard let base = buffer.baseAddress, status(base) == 0 else { return nil }
            // The type is the first word of the structure on every architecture of Linux.
            return UInt32(truncatingIfNeeded: base.load(as: Int.self))
        }
    }

    /// Returns whether volumes with the magic number `type` restrict names as Windows does.
    static func restrictsNames(ofType type: UInt32) -> Bool {
        switch type {
        // FAT, exFAT, the two drivers of NTFS, and the three versions of SMB.
        case 0x4D44, 0x2011_BAB0, 0x5346_544E, 0x7366_746E, 0x517B, 0xFF53_4D42, 0xFE53_4D42: true
        default: false
        }
    }

    /// Returns the kind of the volumes with the magic number `type` (linux/magic.h).
    ///
    /// Disks are listed instead of network file systems, because an unknown network file system must not pass for a
    /// disk.
    static func volumeKind(ofType type: UInt32) -> VolumeKind {
        switch type {
        // tmpfs and ramfs.
        case 0x0102_1994, 0x8584_58F6: .memory
        // ext2 to ext4 (which have the same number, although ext2 has no shared syncs), and XFS.
        case 0xEF53, 0x5846_5342: .diskWithSharedSyncs
        // Btrfs, F2FS, ZFS, bcachefs, JFS, NILFS, ReiserFS, NTFS, UDF, and overlayfs, which starts no writing
        // before a sync.
        case 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E, 0x3153_464A, 0x3434, 0x5265_4973, 0x5346_544E,
            0x7366_746E, 0x1501_3346, 0x794C_7630:
            .disk
        // FAT, exFAT, HFS+, HFS.
        case 0x4D44, 0x2011_BAB0, 0x482B, 0x4244: .diskWithoutGaps
        default: .other
        }
    }

    /// The functions fstatfs(2) and statfs(2), looked up by name for the same reason as fallocate(2).
    private static let fstatfs: FStatFS? = dlsym(nil, "fstatfs").map { unsafeBitCast($0, to: FStatFS.self) }
    private static let statfs: StatFS? = dlsym(nil, "statfs").map { unsafeBitCast($0, to: StatFS.self) }

    private typealias FStatFS = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
    private typealias StatFS = @convention(c) (UnsafePointer<CChar>, UnsafeMutableRawPointer) -> Int32

    package func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        if let renameat2 = Self.renameat2 {
            do {
                // -100 is AT_FDCWD and 1 is RENAME_NOREPLACE.
                _ = try call("rename to", destination) { renameat2(-100, path, -100, destination, 1) }
                return
            } catch let error where error.kind == .unsupported {}
        }
        try reserveAndRename(path, to: destination)
    }

    package func exchange(_ path: String, with other: String) throws(FileFailure) {
        guard let renameat2 = Self.renameat2 else {
            throw Self.failure(ENOSYS, "exchange", PartialNames.lastComponent(of: path))
        }
        // 2 is RENAME_EXCHANGE.
        _ = try call("exchange", other) { renameat2(-100, path, -100, other, 2) }
    }

    private static let renameat2: RenameAt2? = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: RenameAt2.self) }

    private typealias RenameAt2 =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

    private static func contents(of path: String) -> String? {
        let number = systemOpen(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        defer { _ = systemClose(number) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = systemRead(number, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
#endif
