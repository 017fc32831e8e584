internal import Foundation

/// The number of files that the process may have open, which includes its connections.
enum OpenFileLimit {
    /// More descriptors than a run uses.
    private static let enough: rlim_t = 65_536

    /// Raises the limit as far as the user permits it, because the usual one of 1024 permits few connections with many
    /// hosts.
    ///
    /// - Returns: The limit now, or the usual one if it can't be determined.
    @discardableResult
    static func raise() -> Int {
        #if canImport(Darwin)
        let (resource, enough) = (RLIMIT_NOFILE, min(Self.enough, rlim_t(OPEN_MAX)))
        #elseif canImport(Musl)
        let resource = RLIMIT_NOFILE
        #else
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        let present = limit.rlim_cur
        guard present < min(enough, limit.rlim_max) else { return Int(clamping: present) }
        limit.rlim_cur = min(enough, limit.rlim_max)
        return Int(clamping: setrlimit(resource, &limit) == 0 ? limit.rlim_cur : present)
    }
}
