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
            let index = try await folder.split(
                (0..<lineCount).flatMap { line in (0...deadHostCount).map { "http://host\($0).example/\(line)\n" } }
                    .joined())
            let folders = UnitFolders(units: folder.url("units"), output: folder.url("out"), isPacked: false)
            try folders.create()
            let run = UnitRun(index.lanes(ofTask: 0, of: 1), in: folders, attemptLimit: 1, isQuiet: true)
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
}
