internal import Foundation

/// A file's place below the directory that all files go to: a name, or a path that does not leave it.
struct OutputName: Sendable, Hashable {
    /// Without `.` components and doubled slashes, so that equal places have equal paths.
    let path: String

    init(_ text: String) throws(Misuse) {
        guard !text.isEmpty else { throw Misuse("the file name is empty") }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Misuse("a file name cannot have control characters")
        }
        // By bytes, as the system does: a slash and a combining mark behind it are one `Character`.
        let components = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard components.first != "" else { throw Misuse("an absolute path would leave the directory") }
        guard !components.contains("..") else { throw Misuse("the path would leave the directory") }
        guard let last = components.last, last != "", last != "." else { throw Misuse("the path names no file") }
        path = components.filter { $0 != "" && $0 != "." }.joined(separator: "/")
    }

    /// The file's place in `directory`.
    func url(in directory: URL) -> URL {
        directory.appending(path: path, directoryHint: .notDirectory)
    }
}
