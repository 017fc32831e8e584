/// The attributes that a finished file gets.
///
/// ```swift
/// configuration.fileAttributes.usesLastModified = true
/// ```
public struct FileAttributes: Sendable, Hashable {
    /// Whether the modification time of a file is the value of Last-Modified (RFC 9110, 8.8.2) instead of the time at which
    /// the file was written.
    ///
    /// A file whose server sends no valid value gets no other time, and the times of files that are used again aren't
    /// changed. Default: `false`.
    public var usesLastModified = false

    /// Creates attributes with the default values.
    public init() {}
}
