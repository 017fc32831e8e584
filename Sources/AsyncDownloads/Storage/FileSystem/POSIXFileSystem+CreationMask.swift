private import Foundation

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

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
