#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// A test of whether the process or the system has reached its limit of open file descriptors.
///
/// Engines don't report a shortage as the reason why they couldn't create a socket, or they end the process.
enum DescriptorShortage {
    /// Returns an error if `count` more descriptors can't be opened, or `nil` if they can.
    ///
    /// Only `EMFILE` and `ENFILE` of open(2) count as a shortage.
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
