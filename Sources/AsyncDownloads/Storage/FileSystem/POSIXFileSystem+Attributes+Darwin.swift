#if canImport(Darwin)
internal import Darwin
private import Foundation

extension POSIXFileSystem {
    package func setAttributes(_ attributes: FileAttributes, of file: OpenFile, in directory: String) {
        guard let path = path(of: file) else { return }
        Self.setExcludedFromBackup(attributes.isExcludedFromBackup, path)
        #if os(macOS)
        if attributes.isQuarantined { Self.quarantine(path) }
        #else
        // An unfinished file may have less protection than its directory requires.
        guard let protection = attributes.protection.map({ FileProtectionType($0) }) ?? Self.protection(in: directory)
        else { return }
        Self.setProtection(protection, path)
        #endif
    }

    /// Excludes a new file from backups, and makes it accessible while the device is locked.
    func setAttributes(ofUnfinished file: OpenFile) {
        guard let path = path(of: file) else { return }
        Self.setExcludedFromBackup(true, path)
        #if !os(macOS)
        // If the directory requires even less protection, the file keeps the inherited protection.
        if let inherited = Self.protection(of: path), inherited == .complete || inherited == .completeUnlessOpen {
            Self.setProtection(.completeUntilFirstUserAuthentication, path)
        }
        #endif
    }

    /// Returns the present absolute path of the open file.
    private func path(of file: OpenFile) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        guard fcntl(file.number, F_GETPATH, &buffer) == 0 else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func setExcludedFromBackup(_ isExcluded: Bool, _ path: String) {
        var values = URLResourceValues()
        values.isExcludedFromBackup = isExcluded
        set(values, path)
    }

    private static func set(_ values: URLResourceValues, _ path: String) {
        var url = URL(fileURLWithPath: path, isDirectory: false)
        try? url.setResourceValues(values)
    }

    #if os(macOS)
    /// Marks the file as downloaded; the system adds the name of the app and the time.
    private static func quarantine(_ path: String) {
        var values = URLResourceValues()
        // The values of kLSQuarantineTypeKey and kLSQuarantineTypeOtherDownload.
        values.quarantineProperties = ["LSQuarantineType": "LSQuarantineTypeOtherDownload"]
        set(values, path)
    }
    #else
    private static func protection(of path: String) -> FileProtectionType? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.protectionKey] as? FileProtectionType
    }

    /// Returns the protection of new files in the directory or, if it doesn't exist, in the nearest one above it.
    private static func protection(in directory: String) -> FileProtectionType? {
        var directory = directory
        while !FileManager.default.fileExists(atPath: directory) {
            let parent = PartialNames.directory(of: directory)
            guard parent.utf8.count < directory.utf8.count else { return nil }
            directory = parent
        }
        return protection(of: directory)
    }

    private static func setProtection(_ protection: FileProtectionType, _ path: String) {
        try? FileManager.default.setAttributes([.protectionKey: protection], ofItemAtPath: path)
    }
    #endif
}

#if !os(macOS)
extension FileProtectionType {
    fileprivate init(_ protection: FileAttributes.Protection) {
        self =
            switch protection {
            case .unprotected: .none
            case .complete: .complete
            case .completeUnlessOpen: .completeUnlessOpen
            case .completeUntilFirstUserAuthentication: .completeUntilFirstUserAuthentication
            }
    }
}
#endif
#endif
