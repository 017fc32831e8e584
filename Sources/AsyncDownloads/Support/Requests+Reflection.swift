extension DownloadRequest: CustomReflectable {
    /// A mirror without children, since the URL and the headers may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}

extension ResumeToken: CustomReflectable {
    /// A mirror without children, since the URLs may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
