extension URLRefresh.Context: CustomStringConvertible {
    /// The URL without what may be secret in it, and why another is needed: fit for a log.
    public var description: String { "\(url.redacted), \(reason), \(receivedByteCount) bytes received" }
}

extension FreshURL: CustomStringConvertible {
    /// The URL without what may be secret in it: fit for a log.
    public var description: String { url.redacted }
}
