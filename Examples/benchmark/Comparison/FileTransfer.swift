internal import Foundation

/// One file of a workload: its URL and the path at which it is placed.
struct FileTransfer: Sendable {
    let url: URL
    let path: String

    /// A line of a list in a file.
    var line: String { "\(url.absoluteString) \(path)" }

    /// Reads a list, in which a space separates the URL and the path on each line.
    static func read(_ list: URL) throws -> [Self] {
        try String(contentsOf: list, encoding: .utf8).split(separator: "\n").map { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let url = URL(string: String(parts[0])) else {
                throw CocoaError(.fileReadCorruptFile)
            }
            return Self(url: url, path: String(parts[1]))
        }
    }
}
