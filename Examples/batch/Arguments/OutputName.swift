internal import Foundation

/// A file's location in the output directory: a name, or a relative path that does not lead out of the directory.
struct OutputName: Sendable, Hashable {
    /// The path without `.` components and repeated slashes, so that equal locations have equal paths.
    let path: String

    init(_ text: String) throws(Misuse) {
        guard !text.isEmpty else { throw Misuse("the file name is empty") }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Misuse("a file name cannot contain control characters")
        }
        // Bytes are compared, as the system does, because a slash and a combining mark after it form one `Character`.
        let components = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard components.first != "" else { throw Misuse("an absolute path is outside the output directory") }
        guard !components.contains("..") else { throw Misuse("the path cannot contain ..") }
        guard let last = components.last, last != "", last != "." else { throw Misuse("the path has no file name") }
        path = components.filter { $0 != "" && $0 != "." }.joined(separator: "/")
    }

    /// Returns the file's URL in `directory`.
    func url(in directory: URL) -> URL {
        directory.appending(path: path, directoryHint: .notDirectory)
    }
}
