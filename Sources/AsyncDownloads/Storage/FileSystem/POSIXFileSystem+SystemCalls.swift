#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

// The system's functions under other names, because the methods of POSIXFileSystem hide them.

// Texts are passed by `withCString`, because a text as an argument would be copied to the heap.

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
