private import Foundation

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The file system of the operating system.
///
/// A write beyond the process's limit on file sizes makes the system send SIGXFSZ, which ends the process unless the
/// program ignores that signal. A library must not change the handling of signals for the whole program. Therefore,
/// each write is first compared with the limit, and fails like a write to a full disk.
package struct POSIXFileSystem: FileSystem {
    /// The mode of finished files.
    let ordinaryMode: mode_t
    /// Returns the process's limit on the size of a file in bytes; nil for no limit.
    let sizeLimit: @Sendable () -> Int64?

    /// Creates the file system.
    ///
    /// - Parameter sizeLimit: Returns the limit on the size of a file; tests replace it.
    package init(sizeLimit: @escaping @Sendable () -> Int64? = Self.systemSizeLimit) {
        ordinaryMode = 0o666 & ~Self.creationMask()
        self.sizeLimit = sizeLimit
    }

    package func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        // O_NONBLOCK prevents a pipe with that name from blocking the thread.
        var flags = (purpose == .reading ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        if purpose == .new { flags |= O_CREAT | O_EXCL }
        let number = try call("open", path) { systemOpen(path, flags, 0o600) }
        let file = OpenFile(number: number, name: PartialNames.lastComponent(of: path))
        if purpose == .new { setAttributes(ofUnfinished: file) }
        return file
    }

    package func close(_ file: OpenFile) {
        // The call isn't repeated after EINTR: Linux has already closed the descriptor, whose number may be reused.
        _ = systemClose(file.number)
    }

    package func lock(_ file: OpenFile) throws(FileFailure) -> Bool {
        while flock(file.number, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default: throw Self.failure(errno, "lock", file.name)
            }
        }
        return true
    }

    package func unlock(_ file: OpenFile) {
        _ = flock(file.number, LOCK_UN)
    }

    package func write(
        _ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64
    ) throws(FileFailure) {
        try checkSizeLimit(offset, bytes.count, file)
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = pwrite(file.number, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
            if count > 0 {
                written += count
            } else if count == 0 {
                throw Self.failure(EIO, "write", file.name)
            } else if errno != EINTR {
                throw Self.failure(errno, "write", file.name)
            }
        }
    }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer, from file: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        while true {
            let count = pread(file.number, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            if errno != EINTR { throw Self.failure(errno, "read", file.name) }
        }
    }

    package func truncate(_ file: OpenFile, to length: Int64) throws(FileFailure) {
        _ = try call("truncate", file.name) { ftruncate(file.number, off_t(length)) }
    }

    package func setPermissions(_ permissions: FilePermissions, of file: OpenFile) throws(FileFailure) {
        let mode =
            switch permissions {
            case .ownerOnly: mode_t(0o600)
            case .ordinary: ordinaryMode
            }
        _ = try call("change the mode of", file.name) { fchmod(file.number, mode) }
    }

    package func setModificationTime(_ seconds: Int64, of file: OpenFile) throws(FileFailure) {
        let times = [timespec](repeating: timespec(tv_sec: time_t(seconds), tv_nsec: 0), count: 2)
        _ = try call("change the times of", file.name) { futimens(file.number, times) }
    }

    package func synchronizeDirectory(_ path: String) throws(FileFailure) {
        let number = try call("open", path) { systemOpen(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        let directory = OpenFile(number: number, name: PartialNames.lastComponent(of: path))
        defer { close(directory) }
        do {
            try synchronize(directory)
        } catch let error where error.kind == .unsupported {
            // Some network file systems do not support syncing a directory, because the server syncs every name change.
        }
    }

    package func rename(_ path: String, to destination: String) throws(FileFailure) {
        _ = try call("rename to", destination) { systemRename(path, destination) }
    }

    package func remove(_ path: String) throws(FileFailure) {
        do {
            _ = try call("remove", path) { unlink(path) }
        } catch let error where error.kind == .missing {}
    }
}

extension POSIXFileSystem {
    package func availableSpace(in directory: String) throws(FileFailure) -> Int64? {
        let limit = sizeLimit()
        guard let free = try freeSpace(in: directory) else { return limit }
        return min(free, limit ?? free)
    }

    /// Throws if the process may not write `count` bytes at an offset of a file.
    func checkSizeLimit(_ offset: Int64, _ count: Int, _ file: OpenFile) throws(FileFailure) {
        guard let limit = sizeLimit() else { return }
        let (end, overflow) = offset.addingReportingOverflow(Int64(count))
        if overflow || end > limit { throw Self.failure(EFBIG, "write", file.name) }
    }

    /// Returns the process's limit on the size of a file, or nil if it is unlimited.
    ///
    /// Allocating blocks does not reveal the limit, because it does not change the file's size.
    package static func systemSizeLimit() -> Int64? {
        #if canImport(Darwin) || canImport(Musl)
        let resource = RLIMIT_FSIZE
        #else
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < UInt64(Int64.max) else { return nil }
        return Int64(limit.rlim_cur)
    }
}

extension POSIXFileSystem {
    /// Repeats a system call while signals interrupt it; a negative result is a failure of `operation`.
    func call(_ operation: String, _ path: String, _ body: () -> Int32) throws(FileFailure) -> Int32 {
        while true {
            let answer = body()
            if answer >= 0 { return answer }
            if errno != EINTR { throw Self.failure(errno, operation, PartialNames.lastComponent(of: path)) }
        }
    }

    /// Returns the failure for a system error number.
    static func failure(_ code: Int32, _ operation: String, _ name: String) -> FileFailure {
        FileFailure(kind(of: code), errno: code, operation: operation, name: name)
    }

    private static func kind(of code: Int32) -> FileFailure.Kind {
        switch code {
        case ENOENT: .missing
        case EEXIST, ENOTEMPTY: .exists
        case ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: .unusablePath
        // A socket.
        case ENXIO: .unusablePath
        case EXDEV: .crossDevice
        case ENOSPC, EDQUOT, EFBIG: .noSpace
        case EACCES, EPERM, EROFS: .denied
        case EMFILE, ENFILE: .tooManyOpenFiles
        // ENOTSUP and EOPNOTSUPP are equal on some systems and different on others.
        case ENOTSUP: .unsupported
        case EOPNOTSUPP: .unsupported
        case ENOSYS, ENOLCK, ENOTTY, EINVAL: .unsupported
        default: .other
        }
    }
}

// These functions give the system's functions other names, because the methods of POSIXFileSystem hide them.

// Strings are passed with `withCString`, because a string argument would be copied to the heap.

func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    path.withCString { open($0, flags, mode) }
}

func systemClose(_ number: Int32) -> Int32 { close(number) }

func systemRead(_ number: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int { read(number, buffer, count) }

func systemRename(_ path: String, _ destination: String) -> Int32 {
    path.withCString { path in destination.withCString { rename(path, $0) } }
}

func systemStatus(_ path: String, _ status: inout stat) -> Int32 {
    path.withCString { lstat($0, &status) }
}

extension POSIXFileSystem {
    /// Copies the bytes of `file` to the same offsets of `copy`, through this process's memory.
    func copyBytes(of file: OpenFile, to copy: OpenFile) throws(FileFailure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while true {
            let count = try read(into: buffer, from: file, at: position)
            guard count > 0 else { return }
            try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: copy, at: position)
            position += Int64(count)
        }
    }

    /// Renames a file to an unused name on systems without such a function: an empty file reserves the name first.
    func reserveAndRename(_ path: String, to destination: String) throws(FileFailure) {
        let handle = try open(destination, .new)
        let reservation = Result { () throws(FileFailure) in try information(of: handle) }
        close(handle)
        do {
            try rename(path, to: destination)
        } catch {
            if let found = try? information(at: destination), let own = try? reservation.get(),
                found.isSameFile(as: own)
            {
                try? remove(destination)
            }
            throw error
        }
    }
}

extension POSIXFileSystem {
    /// Returns the process's file mode creation mask, as far as it applies to files; nil if no file can be created.
    ///
    /// The mask is determined from an empty file, which is created and removed in the directory of temporary files,
    /// because umask(2) would change the mask for the other threads.
    static func observedCreationMask() -> mode_t? {
        let path = FileManager.default.temporaryDirectory.appending(path: ".async-downloads-\(UUID().uuidString)").path
        let number = systemOpen(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard number >= 0 else { return nil }
        defer {
            unlink(path)
            _ = systemClose(number)
        }
        var status = stat()
        guard fstat(number, &status) == 0 else { return nil }
        return 0o666 & ~status.st_mode
    }
}
