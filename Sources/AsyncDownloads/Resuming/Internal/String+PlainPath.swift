extension String {
    /// Whether the string is the name of a file in a directory, and no path outside the directory on any system.
    var isBareFileName: Bool {
        1...255 ~= utf8.count && self != "." && self != ".."
            && !utf8.contains { "/\\".utf8.contains($0) || $0.isControl }
    }

    /// Whether the string is an absolute path whose components are plain file names.
    var isPlainAbsolutePath: Bool { first == "/" && dropFirst().isPlainPath }

    /// Whether the string is empty, or a relative path whose components are plain file names.
    var isPlainRelativePath: Bool { isEmpty || isPlainPath }
}

extension StringProtocol {
    fileprivate var isPlainPath: Bool {
        utf8.count <= 4096
            && split(separator: "/", omittingEmptySubsequences: false).allSatisfy { String($0).isBareFileName }
    }
}

extension UInt8 {
    fileprivate var isControl: Bool { self < 0x20 || self == 0x7F }
}
