#if canImport(Darwin)
internal import Darwin
private import Foundation

extension POSIXFileSystem {
    /// Returns an identifier of the current boot of the machine, or nil if the system does not provide one.
    package static func bootID() -> String? {
        var size = 0
        guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: size)
        guard sysctlbyname("kern.bootsessionuuid", &buffer, &size, nil, 0) == 0 else { return nil }
        let identifier = String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        return identifier.isEmpty ? nil : identifier
    }

    /// Returns the process's file mode creation mask, as it was when it was first needed.
    static func creationMask() -> mode_t { firstCreationMask }

    private static let firstCreationMask = observedCreationMask() ?? 0o022

    package func synchronize(_ file: OpenFile) throws(FileFailure) {
        // On Apple's systems, fsync(2) leaves the bytes in the drive's cache. It is used only where F_FULLFSYNC is not
        // supported: after any other failure, it may succeed although bytes could not be written (rule 45).
        do {
            _ = try call("sync", file.name) { fcntl(file.number, F_FULLFSYNC) }
        } catch let error where error.kind == .unsupported {
            _ = try call("sync", file.name) { fsync(file.number) }
        }
    }

    /// Writes the file's bytes to the drive's cache, which a later F_FULLFSYNC of any file makes durable.
    package func startSynchronizing(_ file: OpenFile) throws(FileFailure) {
        _ = try call("sync", file.name) { fsync(file.number) }
    }

    package var flushesAllFilesTogether: Bool { true }

    package func setAttribute(_ name: String, to value: [UInt8], of file: OpenFile) throws(FileFailure) {
        _ = try call("describe", file.name) { fsetxattr(file.number, name, value, value.count, 0, 0) }
    }

    package func attribute(_ name: String, of file: OpenFile) throws(FileFailure) -> [UInt8]? {
        try readAttribute(of: file, absent: ENOATTR) { fgetxattr(file.number, name, $0, $1, 0, 0) }
    }

    package func checkWrites(to file: OpenFile) throws(FileFailure) {
        var status = statfs()
        _ = try call("examine", file.name) { fstatfs(file.number, &status) }
        // For network volumes, Apple's systems report late errors only at the last close; local volumes report at once.
        guard status.f_flags & UInt32(MNT_LOCAL) == 0 else { return }
        _ = try call("sync", file.name) { fsync(file.number) }
    }

    package func preallocate(_ file: OpenFile, _ range: Range<Int64>) throws(FileFailure) {
        var status = stat()
        _ = try call("examine", file.name) { fstat(file.number, &status) }
        // F_PREALLOCATE allocates beyond the blocks that the file has, which are counted in units of 512 bytes.
        // For a range after a gap, only the blocks of the range are allocated.
        let missing = min(range.upperBound - status.st_blocks * 512, range.upperBound - range.lowerBound)
        guard missing > 0 else { return }
        var store = fstore_t(
            fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: missing,
            fst_bytesalloc: 0)
        _ = try call("allocate blocks for", file.name) { fcntl(file.number, F_PREALLOCATE, &store) }
    }

    func freeSpace(in directory: String) throws(FileFailure) -> Int64? {
        #if os(macOS) || os(iOS) || os(visionOS)
        // Unlike statfs(2), this includes space that the system can free for a file that the user requested.
        let values = try? URL(fileURLWithPath: directory).resourceValues(
            forKeys: [.volumeAvailableCapacityForImportantUsageKey])
        if let space = values?.volumeAvailableCapacityForImportantUsage, space > 0 { return space }
        #endif
        var status = statfs()
        _ = try call("examine", directory) { statfs(directory, &status) }
        guard status.f_blocks > 0 else { return nil }
        let (bytes, overflow) = status.f_bavail.multipliedReportingOverflow(by: UInt64(status.f_bsize))
        return overflow ? nil : Int64(clamping: bytes)
    }

    package func volumeKind(of file: OpenFile) -> VolumeKind {
        var status = statfs()
        guard fstatfs(file.number, &status) == 0, status.f_flags & UInt32(MNT_LOCAL) != 0 else { return .other }
        // Known file systems are listed, because user-space file systems also report that they are local.
        switch Self.typeName(status) {
        case "apfs": return .diskWithSharedSyncs
        case "hfs", "msdos", "exfat": return .diskWithoutGaps
        case "tmpfs": return .memory
        default: return .other
        }
    }

    func restrictsNames(inExisting directory: String) -> Bool? {
        var status = statfs()
        guard statfs(directory, &status) == 0 else { return nil }
        return ["msdos", "exfat", "ntfs", "smbfs"].contains(Self.typeName(status))
    }

    /// Returns the name of a volume's file system.
    private static func typeName(_ status: statfs) -> String {
        withUnsafeBytes(of: status.f_fstypename) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    package func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        do {
            _ = try call("rename to", destination) { renamex_np(path, destination, UInt32(RENAME_EXCL)) }
        } catch let error where error.kind == .unsupported {
            try reserveAndRename(path, to: destination)
        }
    }

    package func exchange(_ path: String, with other: String) throws(FileFailure) {
        _ = try call("exchange", other) { renamex_np(path, other, UInt32(RENAME_SWAP)) }
    }

    package func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        let isClone = fclonefileat(file.number, AT_FDCWD, path, 0) == 0
        let copy: OpenFile
        do {
            copy = try open(path, isClone ? .existing : .new)
        } catch {
            if isClone { try? remove(path) }
            throw error
        }
        do {
            if !isClone { try copyBytes(of: file, to: copy) }
            // A clone has the permissions and the attributes of its source.
            try setPermissions(.ownerOnly, of: copy)
            setAttributes(ofUnfinished: copy)
            return copy
        } catch {
            close(copy)
            try? remove(path)
            throw error
        }
    }
}
#endif
