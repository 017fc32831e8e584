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
        // One descriptor is opened in any case, because the system has a limit, too.
        for _ in 0..<(areHighestUnused(count) ? 1 : count) {
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

    /// Returns whether the process can open this many more descriptors, because those with the highest numbers are unused.
    ///
    /// One system call determines this, and it is true unless the process is close to its limit.
    private static func areHighestUnused(_ count: Int) -> Bool {
        #if canImport(Darwin)
        // The system may permit fewer descriptors than the limit of the process.
        return false
        #else
        guard count > 1, let limit = DescriptorLimit.current, let end = Int32(exactly: limit), limit >= count
        else { return false }
        var states = (end - Int32(count)..<end).map { pollfd(fd: $0, events: 0, revents: 0) }
        return poll(&states, nfds_t(count), 0) == count && states.allSatisfy { $0.revents == POLLNVAL }
        #endif
    }
}
