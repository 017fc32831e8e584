/// The attributes that a finished file gets, before it is visible at its destination.
///
/// ```swift
/// configuration.fileAttributes.usesLastModified = true
/// configuration.fileAttributes.isExcludedFromBackup = true
/// ```
///
/// An attribute that a volume doesn't store isn't an error. A file that is used again keeps the attributes that it has.
public struct FileAttributes: Sendable, Hashable {
    /// Whether the modification time of a file is the value of Last-Modified (RFC 9110, 8.8.2) instead of the time at which
    /// the file was written.
    ///
    /// A file whose server sends no valid value gets no other time, and the times of files that are used again aren't
    /// changed. Downloads in a background session ignore the value. Default: `false`.
    public var usesLastModified = false

    /// Whether backups of the device leave the file out, as they should if it can be downloaded again.
    ///
    /// It has no effect on systems other than Apple's. Default: `false`.
    public var isExcludedFromBackup = false

    /// The protection of the file while the device is locked; `nil` for that of new files in its directory.
    ///
    /// A file that can't be accessed while the device is locked can't be used again then, and is downloaded once more
    /// if it is requested. It has no effect on macOS and on systems other than Apple's. Default: `nil`.
    public var protection: Protection?

    /// Whether macOS treats the file as downloaded from the internet, and checks it before it is opened the first time.
    ///
    /// The URL isn't recorded, because it may contain secrets. Files of a sandboxed app are quarantined in any case. It
    /// has no effect on other systems. Default: `false`.
    public var isQuarantined = false

    /// Creates attributes with the default values.
    public init() {}

    /// The states of the device in which a file can be accessed, as in Foundation's `FileProtectionType`.
    public enum Protection: String, Sendable, Hashable, Codable {
        /// The file can always be accessed.
        case unprotected
        /// The file can be accessed while the device is unlocked.
        case complete
        /// A file that was opened before the device was locked can still be accessed; others can't be opened.
        case completeUnlessOpen
        /// The file can be accessed after the user has unlocked the device for the first time since it was started.
        case completeUntilFirstUserAuthentication
    }
}

extension FileAttributes: Codable {
    private enum CodingKeys: String, CodingKey {
        case usesLastModified = "usesLastModified"
        case isExcludedFromBackup = "isExcludedFromBackup"
        case protection = "protection"
        case isQuarantined = "isQuarantined"
    }

    /// Creates attributes from their recorded form; an attribute that isn't recorded has its default.
    public init(from decoder: any Decoder) throws {
        self.init()
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try container.read(.usesLastModified, into: &usesLastModified)
        try container.read(.isExcludedFromBackup, into: &isExcludedFromBackup)
        protection = try container.decodeIfPresent(Protection.self, forKey: .protection)
        try container.read(.isQuarantined, into: &isQuarantined)
    }
}
