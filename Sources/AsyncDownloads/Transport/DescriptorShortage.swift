#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Whether the process, or the system, has as many files and sockets open as it may.
///
/// For engines, which do not tell why they could make no socket, or end the process.
enum DescriptorShortage {
    /// Why `count` descriptors more cannot be open at once, or nil where they can (`EMFILE`, `ENFILE` of open(2)).
    static func error(opening count: Int = 1) -> DownloadError? {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { _ = close(descriptor) } }
        for _ in 0..<count {
            let descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                let code = errno
                guard code == EMFILE || code == ENFILE else { return nil }
                return DownloadError(.tooManyOpenFiles, SystemErrorText.text(code))
            }
            descriptors.append(descriptor)
        }
        return nil
    }
}
