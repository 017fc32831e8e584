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

    package func copyPermissions(of other: String, to path: String) throws(FileFailure) {
        var (wanted, present) = (stat(), stat())
        _ = try call("examine", other) { systemStatus(other, &wanted) }
        // Another user may own the parent directory, and replace the directory by a symbolic link.
        let directory = try call("open", path) { systemOpen(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        defer { _ = systemClose(directory) }
        _ = try call("examine", path) { fstat(directory, &present) }
        let isOwn = (wanted.st_uid, wanted.st_gid) == (present.st_uid, present.st_gid)
        if !isOwn { _ = try call("set the owner of", path) { fchown(directory, wanted.st_uid, wanted.st_gid) } }
        // A change of the owner may clear some of the permissions.
        guard !isOwn || wanted.st_mode != present.st_mode else { return }
        _ = try call("set the permissions of", path) { fchmod(directory, wanted.st_mode & 0o7777) }
    }

    package func removeDirectory(_ path: String) throws(FileFailure) {
        _ = try call("remove", path) { rmdir(path) }
    }

    package func link(_ path: String, as other: String) throws(FileFailure) {
        // Without flags, a symbolic link gets the second name, not its target.
        _ = try call("link", path) { linkat(AT_FDCWD, path, AT_FDCWD, other, 0) }
    }
}
