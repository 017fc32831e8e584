extension URLRefresh.Context: CustomStringConvertible {
    /// The URL without what may be secret in it, and why another is needed: fit for a log.
    public var description: String { "\(url.redacted), \(reason), \(receivedByteCount) bytes received" }
}

extension FreshURL: CustomStringConvertible {
    /// The URL without what may be secret in it: fit for a log.
    public var description: String { url.redacted }
}

extension URLRefresh.Context: CustomReflectable {
    /// A mirror without children, since the URL may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}

extension FreshURL: CustomReflectable {
    /// A mirror without children, since the URL and the headers may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
