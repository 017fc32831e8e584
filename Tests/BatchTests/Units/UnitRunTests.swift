internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of the order in which the items of a task are started.
@Suite(.endsWhenHung) struct UnitRunTests {
    @Test func `hosts that can't be reached don't delay the files of another host`() async throws {
        try await Folder.with { folder in
            let (deadHostCount, lineCount, openCount) = (100, 20, 64)
            // The last host can be reached.
            let run = try await run(lineCount, of: deadHostCount + 1, in: folder)
            var (failedCount, finishedCount) = (0, 0)
            while finishedCount < lineCount {
                var items: [Item] = []
                while items.count < openCount, let next = try await run.next() { items.append(next.item) }
                for item in items {
                    var event = try RunEvent.sample(.verifying)
                    if item.address.url.host() == "host\(deadHostCount).example" {
                        let file = DownloadedFile(
                            url: folder.url("out/file"), byteCount: 0, fetchedByteCount: 0, finalURL: item.address.url)
                        event.what = .success(.finished(file))
                        finishedCount += 1
                    } else {
                        event.what = .failure(DownloadError(.hostNotFound))
                        failedCount += 1
                    }
                    event.item = item
                    try await run.take(event, original: item)
                }
            }
            #expect(failedCount < 4 * openCount)
            _ = await run.finish(Tally(total: 0))
        }
    }

    @Test func `where few files may be open, a lane starts when another one is done`() async throws {
        try await Folder.with { folder in
            let (hostCount, lineCount) = (20, 3)
            let run = try await run(lineCount, of: hostCount, in: folder, openFileLimit: 64)
            var failedCount = 0
            while let next = try await run.next() {
                let locks = try folder.names("out/done").filter { $0.hasSuffix(".lock") }
                #expect(locks.count <= 4)
                var event = try RunEvent.sample(.verifying)
                (event.what, event.item) = (.failure(DownloadError(.hostNotFound)), next.item)
                try await run.take(event, original: next.item)
                failedCount += 1
            }
            #expect(failedCount == hostCount * lineCount)
            #expect(await run.end.reportCount == hostCount)
            _ = await run.finish(Tally(total: 0))
        }
    }

    /// Returns a run over a unit for each host with this number of lines.
    private func run(
        _ lineCount: Int, of hostCount: Int, in folder: Folder, openFileLimit: Int = 65_536
    ) async throws -> UnitRun {
        let lines = (0..<lineCount).flatMap { line in (0..<hostCount).map { "http://host\($0).example/\(line)\n" } }
        let index = try await folder.split(lines.joined())
        let folders = UnitFolders(units: folder.url("units"), output: folder.url("out"), isPacked: false)
        try folders.create()
        return UnitRun(
            index.lanes(ofTask: 0, of: 1), in: folders, attemptLimit: 1, openFileLimit: openFileLimit, isQuiet: true)
    }
}
