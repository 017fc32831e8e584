#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension POSIXFileSystem {
    package func makeDirectory(_ path: String) throws(FileFailure) {
        _ = try call("create the directory", path) { mkdir(path, 0o777) }
    }

    package func makeDirectory(_ path: String, permissions: UInt16) throws(FileFailure) {
        do {
            // Until its permissions are set, nobody else may access the directory.
            _ = try call("create the directory", path) { mkdir(path, 0o700) }
        } catch let error where error.kind == .exists {}
        _ = try call("set the permissions of", path) { chmod(path, mode_t(permissions)) }
    }

    package func removeDirectory(_ path: String) throws(FileFailure) {
        _ = try call("remove", path) { rmdir(path) }
    }

    package func link(_ path: String, as other: String) throws(FileFailure) {
        // Without flags, a symbolic link gets the second name, not its target.
        _ = try call("link", path) { linkat(AT_FDCWD, path, AT_FDCWD, other, 0) }
    }
}
