#if !canImport(Darwin)
#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension POSIXFileSystem {
    /// Names one run of the machine from start to stop; nil where the system does not tell.
    package static func bootID() -> String? {
        guard let text = contents(of: "/proc/sys/kernel/random/boot_id") else { return nil }
        let name = text.prefix { $0 == "-" || $0.isHexDigit }
        return name.isEmpty ? nil : String(name)
    }

    /// The process's file mode creation mask.
    ///
    /// Read where reading does not change it for the other threads, which umask(2) would.
    static func creationMask() -> mode_t {
        guard let text = contents(of: "/proc/self/status"),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Umask:") }),
            let mask = mode_t(line.dropFirst("Umask:".count).filter { !$0.isWhitespace }, radix: 8)
        else { return 0o022 }
        return mask
    }

    package func synchronize(_ file: OpenFile) throws(FileFailure) {
        _ = try call("sync", file.name) { fsync(file.number) }
    }

    package func checkWrites(to file: OpenFile) throws(FileFailure) {
        while true {
            let copy: Int32
            do {
                copy = try call("duplicate", file.name) { fcntl(file.number, F_DUPFD_CLOEXEC, 0) }
            } catch let error where error.kind == .tooManyOpenFiles {
                return try synchronize(file)
            }
            // Closing any descriptor of a file makes a network file system send what it holds back.
            if systemClose(copy) == 0 { return }
            if errno != EINTR { throw Self.failure(errno, "close", file.name) }
        }
    }

    package func preallocate(_ file: OpenFile, length: Int64) throws(FileFailure) {
        guard let fallocate = Self.fallocate else { return }
        // 1 is FALLOC_FL_KEEP_SIZE: the file's size goes on to tell how much was written.
        _ = try call("set space aside for", file.name) { fallocate(file.number, 1, 0, off_t(length)) }
    }

    /// fallocate(2), looked up by its name since Swift's modules of the C libraries leave it out.
    ///
    /// posix_fallocate(3), which they have, changes the size and writes zeros where the file system has no such thing.
    private static let fallocate: FAllocate? = dlsym(nil, "fallocate").map { unsafeBitCast($0, to: FAllocate.self) }

    private typealias FAllocate = @convention(c) (Int32, Int32, off_t, off_t) -> Int32

    func freeSpace(in directory: String) throws(FileFailure) -> Int64? {
        var status = statvfs()
        _ = try call("examine", directory) { statvfs(directory, &status) }
        // File systems without a size of their own tell 0 of everything.
        guard status.f_blocks > 0 else { return nil }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? nil : Int64(clamping: bytes)
    }

    package func duplicate(_ file: OpenFile, to path: String) throws(FileFailure) -> OpenFile {
        let copy = try open(path, .new)
        do {
            // FICLONE, a macro that is not imported: the number is the same on x86-64 and arm64.
            if ioctl(copy.number, 0x4004_9409, file.number) != 0 {
                try copyBytes(of: file, to: copy)
            }
            try setPermissions(.ordinary, of: copy)
            return copy
        } catch {
            close(copy)
            try? remove(path)
            throw error
        }
    }

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
