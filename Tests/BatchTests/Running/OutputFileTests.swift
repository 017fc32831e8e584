internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of files that the tool writes.
@Suite(.endsWhenHung) struct OutputFileTests {
    @Test func `a path that leads to another file doesn't lead to this one`() async throws {
        try await Folder.with { folder in
            let (path, other) = (folder.url("file").path, folder.url("other").path)
            let file = try OutputFile(path, O_WRONLY | O_CREAT)
            defer { file.close() }
            #expect(file.isFile(at: path))
            try OutputFile(other, O_WRONLY | O_CREAT).close()
            #expect(rename(other, path) == 0)
            #expect(!file.isFile(at: path))
            unlink(path)
            #expect(!file.isFile(at: path))
            #expect(symlink("/dev/null", path) == 0)
            #expect(!file.isFile(at: path))
        }
    }

    @Test func `a directory at the path of an unfinished report is an error before anything is written`() async throws {
        try await Folder.with { folder in
            let temporary = folder.url("temporary")
            try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
            #expect(throws: Misuse.self) {
                try ResultFile(folder.url("report").path, temporary: temporary.path)
            }
            #expect(try folder.names() == ["temporary"])
        }
    }
}
