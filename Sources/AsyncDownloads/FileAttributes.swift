/// The attributes of a finished file, which are set before the file appears at its destination.
///
/// ```swift
/// configuration.fileAttributes.usesLastModified = true
/// configuration.fileAttributes.isExcludedFromBackup = true
/// ```
///
/// An attribute that the volume doesn't support is ignored. A reused file keeps the attributes that it has.
public struct FileAttributes: Sendable, Hashable {
    /// A Boolean value that indicates whether the modification time of a file is set to the server's Last-Modified (RFC
    /// 9110, 8.8.2).
    ///
    /// If the server sends no valid Last-Modified, the modification time is the time at which the file was written. The
    /// times of reused files don't change. Downloads in a background session ignore the value. Default: `false`.
    public var usesLastModified = false

    /// A Boolean value that indicates whether the file is excluded from backups of the device.
    ///
    /// Exclude files that can be downloaded again. The property has an effect only on Apple platforms. Default:
    /// `false`.
    public var isExcludedFromBackup = false

    /// The protection of the file while the device is locked; `nil` for the default of new files in its directory.
    ///
    /// While the device is locked, a file that can't be accessed isn't reused: a request for it downloads the file
    /// again. The property has no effect on macOS and on other systems than Apple's. Default: `nil`.
    public var protection: Protection?

    /// A Boolean value that indicates whether macOS quarantines the file, and checks it before it is first opened.
    ///
    /// The URL isn't recorded, because it may contain secrets. Files of a sandboxed app are always quarantined. The
    /// property has no effect on other systems. Default: `false`.
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
