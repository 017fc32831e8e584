#if canImport(Darwin)
internal import Darwin
private import Foundation

extension POSIXFileSystem {
    /// Names one run of the machine from start to stop; nil where the system does not tell.
    package static func bootID() -> String? {
        var size = 0
        guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: size)
        guard sysctlbyname("kern.bootsessionuuid", &buffer, &size, nil, 0) == 0 else { return nil }
        let name = String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }

    /// The file mode creation mask that these systems start programs with.
    ///
    /// The process's own cannot be read without changing it for the other threads for a moment.
    static func creationMask() -> mode_t { 0o022 }

    package func synchronize(_ file: OpenFile) throws(FileFailure) {
        // fsync(2) leaves the bytes in the drive's cache here; file systems that know no more get what they know. Only
        // those: after another failure it may succeed without the bytes that could not be written (rule 45).
        do {
            _ = try call("sync", file.name) { fcntl(file.number, F_FULLFSYNC) }
        } catch let error where error.kind == .unsupported {
            _ = try call("sync", file.name) { fsync(file.number) }
        }
    }

    package func checkWrites(to file: OpenFile) throws(FileFailure) {
        var status = statfs()
        _ = try call("examine", file.name) { fstatfs(file.number, &status) }
        // These systems tell at the last close only, when it is too late; a volume of this machine tells at once.
        guard status.f_flags & UInt32(MNT_LOCAL) == 0 else { return }
        _ = try call("sync", file.name) { fsync(file.number) }
    }

    package func preallocate(_ file: OpenFile, _ range: Range<Int64>) throws(FileFailure) {
        var status = stat()
        _ = try call("examine", file.name) { fstat(file.number, &status) }
        // What is asked for comes behind the blocks that the file has, which are counted in units of 512 bytes.
        let missing = range.upperBound - status.st_blocks * 512
        guard missing > 0 else { return }
        var store = fstore_t(
            fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: missing,
            fst_bytesalloc: 0)
        _ = try call("set space aside for", file.name) { fcntl(file.number, F_PREALLOCATE, &store) }
    }

    func freeSpace(in directory: String) throws(FileFailure) -> Int64? {
        #if os(macOS) || os(iOS) || os(visionOS)
        // Counts what the system would clear away for a file that the user asked for, which statfs(2) does not.
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
        let name = withUnsafeBytes(of: &status.f_fstypename) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        // Listed, since file systems in user space call themselves local.
        switch name {
        case "apfs", "hfs", "msdos", "exfat": return .disk
        case "tmpfs": return .memory
        default: return .other
        }
    }

    package func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        do {
            _ = try call("rename to", destination) { renamex_np(path, destination, UInt32(RENAME_EXCL)) }
        } catch let error where error.kind == .unsupported {
            try reserveAndRename(path, to: destination)
        }
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
            // A clone has the permissions of its source.
            try setPermissions(.ownerOnly, of: copy)
            return copy
        } catch {
            close(copy)
            try? remove(path)
            throw error
        }
    }
}
#endif
