#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension POSIXFileSystem {
    package func availableSpace(in directory: String) throws(FileFailure) -> Int64? {
        guard let free = try freeSpace(in: directory) else { return Self.sizeLimit() }
        return min(free, Self.sizeLimit() ?? free)
    }

    /// Returns the process's limit on the size of a file, or nil if it is unlimited.
    ///
    /// Allocating blocks does not reveal the limit, because it does not change the file's size.
    private static func sizeLimit() -> Int64? {
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
