internal import Foundation
internal import LoopbackServer

@testable import AsyncDownloads

/// What URLSession would have left of a download.
extension TestEnvironment {
    static let temporaryName = "CFNetworkDownload_a1B2c3.tmp"

    /// Where the temporary file is, apart from the destinations.
    var temporaryDirectory: URL { directory.appending(path: "tmp", directoryHint: .isDirectory) }

    var temporaryFile: URL { temporaryDirectory.appending(path: Self.temporaryName) }

    var hasTemporaryFile: Bool { FileManager.default.fileExists(atPath: temporaryFile.path) }

    /// Writes the first `count` bytes into a temporary file, and the resume data that speaks of it.
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

    /// What is in the directory of the destinations, without the directory of the temporary file.
    var destinations: [String] { get throws { try leftovers.filter { $0 != "tmp" } } }
}
