internal import Foundation
internal import LoopbackServer

@testable internal import AsyncDownloads

/// A directory for one test.
struct Folder {
    let url: URL

    /// Runs `body` with an empty directory that is removed afterwards.
    static func with<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Folder) async throws -> Value
    ) async throws -> Value {
        let name = "BatchTests-\(UUID().uuidString)"
        let folder = Folder(url: FileManager.default.temporaryDirectory.appending(path: name))
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder.url) }
        return try await body(folder)
    }

    func url(_ path: String) -> URL { url.appending(path: path) }

    func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: url(path))) }

    /// Returns whether the file contains exactly `content`.
    func holds(_ content: Content, at path: String) throws -> Bool {
        let file = try Data(contentsOf: url(path), options: .mappedIfSafe)
        return Int64(file.count) == content.length && file.withUnsafeBytes { content.matches($0, at: 0) }
    }

    /// Returns the bytes of all visible files by their paths.
    func files() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: url(path).path, isDirectory: &isDirectory)
            guard !isDirectory.boolValue, !url(path).lastPathComponent.hasPrefix(".") else { continue }
            files[path] = try bytes(path)
        }
        return files
    }

    /// Returns the sorted names in a directory, including hidden ones.
    func names(_ path: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url(path).path).sorted()
    }
}

extension Folder {
    /// Whether the volume of folders stores extended attributes, without which no finished file is known again.
    static let hasAttributes: Bool = {
        let (disk, path) = (POSIXFileSystem(), FileManager.default.temporaryDirectory.path + "/probe-\(UUID())")
        guard let file = try? disk.open(path, .new) else { return false }
        defer {
            disk.close(file)
            try? disk.remove(path)
        }
        return (try? disk.setAttribute("user.probe", to: [1], of: file)) != nil
    }()
}
