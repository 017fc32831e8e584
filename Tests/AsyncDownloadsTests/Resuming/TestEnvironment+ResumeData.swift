internal import Foundation
internal import LoopbackServer

@testable import AsyncDownloads

// Files and resume data as URLSession leaves them.
extension TestEnvironment {
    static let temporaryName = "CFNetworkDownload_a1B2c3.tmp"

    /// The directory of the temporary file, which is separate from the destinations.
    var temporaryDirectory: URL { directory.appending(path: "tmp", directoryHint: .isDirectory) }

    var temporaryFile: URL { temporaryDirectory.appending(path: Self.temporaryName) }

    var hasTemporaryFile: Bool { FileManager.default.fileExists(atPath: temporaryFile.path) }

    /// Writes the first `count` bytes into a temporary file, and returns resume data that describes it.
    func paused(
        _ content: Content, _ count: Int64, of path: String, tag: String? = "\"a\"", lastModified: String? = nil
    ) throws -> ResumeData {
        try FileManager.default.createDirectory(at: temporaryDirectory, withIntermediateDirectories: true)
        try Data(content.bytes(in: 0..<count)).write(to: temporaryFile)
        var fields = ResumeDataFields()
        fields[ResumeDataFields.Key.url] = .string(server.url(path).absoluteString)
        fields[ResumeDataFields.Key.count] = .integer(count)
        fields[ResumeDataFields.Key.entityTag] = tag.map { .string($0) }
        fields[ResumeDataFields.Key.date] = lastModified.map { .string($0) }
        return try ResumeData(fields.data(.binaryArchive))
    }

    /// The names in the destinations' directory, without the directory of the temporary file.
    var destinations: [String] { get throws { try leftovers.filter { $0 != "tmp" } } }
}
