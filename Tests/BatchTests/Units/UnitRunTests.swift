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
                    let isDead = item.address.url.host() != "host\(deadHostCount).example"
                    let event: RunEvent = isDead ? .failed(item) : .finished(item, in: folder)
                    if isDead { failedCount += 1 } else { finishedCount += 1 }
                    try await run.take(event)
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
            while let item = try await run.next()?.item {
                let locks = try folder.names("out/done").filter { $0.hasSuffix(".lock") }
                #expect(locks.count <= 4)
                try await run.take(.failed(item))
                failedCount += 1
            }
            #expect(failedCount == hostCount * lineCount)
            #expect(await run.end.reportCount == hostCount)
            _ = await run.finish(Tally(total: 0))
        }
    }

    @Test func `where few files may be open, hosts that can't be reached don't keep their places`() async throws {
        try await Folder.with { folder in
            // Two hosts have places: the first one, which can't be reached, and the second one.
            let run = try await run(20, of: 3, in: folder, openFileLimit: 32)
            var hosts: [String] = []
            while let item = try await run.next()?.item {
                let host = try #require(item.address.url.host())
                hosts.append(host)
                let event: RunEvent = host == "host0.example" ? .failed(item) : .finished(item, in: folder)
                try await run.take(event)
            }
            #expect(hosts.count == 60)
            let ends = try (0..<3).map { try #require(hosts.lastIndex(of: "host\($0).example")) }
            #expect(ends[0] < ends[1], "the third host would have no place until the second one is done")
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

extension RunEvent {
    /// Returns the failure of an item whose host can't be reached.
    fileprivate static func failed(_ item: Item) -> RunEvent {
        RunEvent(item, time: .zero, .failure(DownloadError(.hostNotFound)))
    }

    /// Returns the end of an item whose file was received.
    fileprivate static func finished(_ item: Item, in folder: Folder) -> RunEvent {
        let file = DownloadedFile(
            url: folder.url("out/file"), byteCount: 0, fetchedByteCount: 0, finalURL: item.address.url)
        return RunEvent(item, time: .zero, .success(.finished(file)))
    }
}
