// Former public names, for packages that depend on the main branch. They are removed in the first release.

extension DownloadError {
    /// The former name of ``retainedByteCount``.
    @available(*, deprecated, renamed: "retainedByteCount")
    public var bytesKept: Int64 {
        get { retainedByteCount }
        set { retainedByteCount = newValue }
    }
}

extension Downloader.Configuration {
    /// The former name of ``partialInUsePolicy``.
    @available(*, deprecated, renamed: "partialInUsePolicy")
    public var inUsePolicy: PartialInUsePolicy {
        get { partialInUsePolicy }
        set { partialInUsePolicy = newValue }
    }
}

extension DownloadRequest {
    /// The former name of ``partialInUsePolicy``.
    @available(*, deprecated, renamed: "partialInUsePolicy")
    public var inUsePolicy: PartialInUsePolicy? {
        get { partialInUsePolicy }
        set { partialInUsePolicy = newValue }
    }
}

/// The former name of ``PartialInUsePolicy``.
@available(*, deprecated, renamed: "PartialInUsePolicy")
public typealias InUsePolicy = PartialInUsePolicy
