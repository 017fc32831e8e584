#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension POSIXFileSystem {
    /// Calls the system until no signal interrupts it; negative answers are failures of `operation`.
    func call(_ operation: String, _ path: String, _ body: () -> Int32) throws(FileFailure) -> Int32 {
        while true {
            let answer = body()
            if answer >= 0 { return answer }
            if errno != EINTR { throw Self.failure(errno, operation, PartialNames.lastComponent(of: path)) }
        }
    }

    /// The failure that the system's number stands for.
    static func failure(_ code: Int32, _ operation: String, _ name: String) -> FileFailure {
        FileFailure(
            kind(of: code), errno: code, operation: operation, name: name, reason: SystemErrorText.text(code))
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
        // Two names of one number on some systems, two numbers on others.
        case ENOTSUP: .unsupported
        case EOPNOTSUPP: .unsupported
        case ENOSYS, ENOLCK, ENOTTY, EINVAL: .unsupported
        default: .other
        }
    }
}
