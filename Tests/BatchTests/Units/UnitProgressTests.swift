internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of units that are being processed.
@Suite(.endsWhenHung) struct UnitProgressTests {
    @Test func `different files of one name are all in the archive, also if one gets the inode of another`()
        async throws
    {
        try await Folder.with { folder in
            // More files than are committed together, after which they are removed.
            let count = 200
            let index = try await folder.split((0..<count).map { "http://a.example/\($0)\n" }.joined())
            let folders = UnitFolders(units: folder.url("units"), output: folder.url("out"), isPacked: true)
            try folders.create()
            let unit = try #require(index.units.first)
            let staging = folders.files(of: unit)
            try FileManager.default.createDirectory(at: staging, withIntermediateDirectories: true)
            let progress = try UnitProgress(unit, in: folders)
            let (file, new) = (staging.appending(path: "same.bin"), staging.appending(path: "new"))
            for id in 0..<count {
                try Data("\(id)".utf8).write(to: new)
                rename(new.path, file.path)
                let downloaded = DownloadedFile(
                    url: file, byteCount: 3, fetchedByteCount: 3, finalURL: URL(filePath: "/"))
                try progress.record(try RunEvent.sample(.finished(downloaded)), id: id)
            }
            #expect(try progress.finish(attemptLimit: 1))
            let members = try folder.members(of: "out/000000.tar")
            #expect(members.count == count && Set(members).count == count)
            for id in [0, 63, 64, 65, 128, 199] {
                let name = id == 0 ? "same.bin" : "same-\(id + 1).bin"
                #expect(try folder.bytes(of: name, in: "out/000000.tar") == Array("\(id)".utf8))
            }
        }
    }

    /// A process that is killed may leave a part of a report.
    @Test func `a report replaces what a killed process has written of it`() async throws {
        try await Folder.with { folder in
            let index = try await folder.split("http://a.example/0\n")
            let folders = UnitFolders(units: folder.url("units"), output: folder.url("out"), isPacked: false)
            try folders.create()
            let unit = try #require(index.units.first)
            let unfinished = folders.unfinishedReport(of: unit)
            try Data("{".utf8).write(to: unfinished)
            let progress = try UnitProgress(unit, in: folders)
            try progress.record(.sample(failure: .notFound), id: 0)
            #expect(try progress.finish(attemptLimit: 1))
            #expect(try folder.reports().mapValues(\.count) == ["000000.json": 1])
            #expect(try folder.names("out/done") == ["000000.json"])
        }
    }
}
