#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension POSIXFileSystem {
    package func availableSpace(in directory: String) throws(FileFailure) -> Int64? {
        let limit = sizeLimit()
        guard let free = try freeSpace(in: directory) else { return limit }
        return min(free, limit ?? free)
    }

    /// Throws if the process may not write `count` bytes at an offset of a file.
    func checkSizeLimit(_ offset: Int64, _ count: Int, _ file: OpenFile) throws(FileFailure) {
        guard let limit = sizeLimit() else { return }
        let (end, overflow) = offset.addingReportingOverflow(Int64(count))
        if overflow || end > limit { throw Self.failure(EFBIG, "write", file.name) }
    }

    /// Returns the process's limit on the size of a file, or nil if it is unlimited.
    ///
    /// Allocating blocks does not reveal the limit, because it does not change the file's size.
    package static func systemSizeLimit() -> Int64? {
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
