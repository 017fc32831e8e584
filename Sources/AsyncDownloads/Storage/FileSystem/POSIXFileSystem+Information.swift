#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension POSIXFileSystem {
    package func information(of file: OpenFile) throws(FileFailure) -> FileInformation {
        var status = stat()
        _ = try call("examine", file.name) { fstat(file.number, &status) }
        return FileInformation(status)
    }

    package func information(at path: String) throws(FileFailure) -> FileInformation? {
        var status = stat()
        if systemStatus(path, &status) == 0 { return FileInformation(status) }
        // Most failures are missing files, and creating a `FileFailure` takes longer than the call.
        if errno == ENOENT { return nil }
        do {
            _ = try call("examine", path) { systemStatus(path, &status) }
        } catch let error where error.kind == .missing {
            return nil
        }
        return FileInformation(status)
    }

    package func restrictsNames(in directory: String) -> Bool {
        var directory = directory
        while true {
            if let isRestricted = restrictsNames(inExisting: directory) { return isRestricted }
            // The directory above it may exist.
            let parent = PartialNames.directory(of: directory)
            guard parent.utf8.count < directory.utf8.count else { return false }
            directory = parent
        }
    }

    package func names(in directory: String) throws(FileFailure) -> [String] {
        guard let stream = opendir(directory) else {
            throw Self.failure(errno, "list", PartialNames.lastComponent(of: directory))
        }
        defer { closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: tuple.pointee)) {
                    String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw Self.failure(errno, "list", PartialNames.lastComponent(of: directory)) }
        return names
    }
}

extension POSIXFileSystem {
    /// Reads an extended attribute with `body`, which fills a buffer and returns the number of bytes.
    ///
    /// - Parameter absent: The error number for an attribute that the file doesn't have.
    func readAttribute(
        of file: OpenFile, absent: Int32, _ body: (UnsafeMutableRawPointer, Int) -> Int
    ) throws(FileFailure) -> [UInt8]? {
        var code: Int32 = 0
        let value = [UInt8](unsafeUninitializedCapacity: Self.maximumAttributeSize) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            repeat {
                let result = body(base, Self.maximumAttributeSize)
                (count, code) = (max(0, result), result < 0 ? errno : 0)
            } while code == EINTR
        }
        switch code {
        case 0: return value
        case absent, ERANGE: return nil
        default: throw Self.failure(code, "read the description of", file.name)
        }
    }

    private static let maximumAttributeSize = 4096
}

extension POSIXFileSystem {
    package var user: UInt32 { geteuid() }

    package var ordinaryPermissions: UInt16 { UInt16(truncatingIfNeeded: ordinaryMode) }
}

extension FileInformation {
    fileprivate init(_ status: stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        self.init(
            kind: kind, device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino),
            size: Int64(status.st_size), linkCount: Int(status.st_nlink), owner: status.st_uid,
            permissions: UInt16(truncatingIfNeeded: status.st_mode & 0o777),
            modificationTime: status.modificationTime,
            // In units of 512 bytes, whatever the block size of the file system is.
            allocatedSize: min(Int64(status.st_blocks), .max / 512) * 512)
    }
}

extension stat {
    fileprivate var modificationTime: Int64 {
        #if canImport(Darwin)
        let time = st_mtimespec
        #else
        let time = st_mtim
        #endif
        // A file may have any modification time, even one that overflows.
        let (nanoseconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (time.tv_sec < 0 ? .min : .max) : nanoseconds.addingClamped(Int64(time.tv_nsec))
    }
}
