internal import Foundation

/// A location in the output directory: a name, or a relative path that does not lead out of the directory.
struct OutputName: Sendable, Hashable {
    /// The path without `.` components and repeated slashes, so that equal locations have equal paths.
    let path: String

    init(_ text: String) throws(Misuse) {
        guard !text.isEmpty else { throw Misuse("the file name is empty") }
        let components = try Self.components(of: text)
        guard let last = components.last, last != "", last != "." else { throw Misuse("the path has no file name") }
        path = Self.joined(components)
    }

    private init(components: [String]) {
        path = Self.joined(components)
    }

    /// Returns the location of a directory, which may be the output directory itself.
    static func directory(_ text: String) throws(Misuse) -> Self {
        Self(components: try components(of: text))
    }

    /// Returns this location in a directory of the output directory.
    func within(_ directory: OutputName) -> Self {
        directory.path.isEmpty ? self : Self(components: [directory.path, path])
    }

    /// Returns the file's URL in `directory`.
    func url(in directory: URL) -> URL {
        directory.appending(path: path, directoryHint: .notDirectory)
    }

    private static func components(of text: String) throws(Misuse) -> [String] {
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Misuse("a file name cannot contain control characters")
        }
        // Bytes are compared, as the system does, because a slash and a combining mark after it form one `Character`.
        let components = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard components.count == 1 || components.first != "" else {
            throw Misuse("an absolute path is outside the output directory")
        }
        guard !components.contains("..") else { throw Misuse("the path cannot contain ..") }
        return components
    }

    private static func joined(_ components: [String]) -> String {
        components.filter { $0 != "" && $0 != "." }.joined(separator: "/")
    }
}
