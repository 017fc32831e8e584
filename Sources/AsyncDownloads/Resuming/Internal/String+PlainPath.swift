extension String {
    /// Whether it names a file in a directory, and nothing outside of it on any system.
    var isBareFileName: Bool {
        1...255 ~= utf8.count && self != "." && self != ".."
            && !utf8.contains { "/\\".utf8.contains($0) || $0.isControl }
    }

    /// Whether it is a path from the root that never climbs.
    var isPlainAbsolutePath: Bool { first == "/" && dropFirst().isPlainPath }

    /// Whether it is a path that starts where its reader says, and never climbs; empty for that very place.
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
