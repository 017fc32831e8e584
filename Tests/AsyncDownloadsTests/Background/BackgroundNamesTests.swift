internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Files and handles of several background downloads that meet at one name or in one transfer.
@Suite(.endsWhenHung)
struct BackgroundNamesTests {
    @Test func `files of different resources whose URLs end in the same name are numbered`() async throws {
        let app = try BackgroundApp()
        let folder = URL(fileURLWithPath: "\(app.home)/files", isDirectory: true)
        let life = app.launch()
        let downloads = try ["a", "b"].map { part in
            let url = try #require(URL(string: "https://example.org/\(part)/1"))
            return life.downloader.start(DownloadRequest(from: url, into: folder))
        }
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        var names: Set<String> = []
        for download in downloads { names.insert(try await download.file.url.lastPathComponent) }
        #expect(names == ["1", "1-2"])
        #expect(Set(app.placedNames) == names)
    }

    @Test func `a transfer stops when the last handle that isn't paused is canceled`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let paused = life.downloader.start(app.request(1))
        let canceled = life.downloader.start(app.request(1, to: "copy"))
        try await life.settle()
        paused.pause()
        try await life.settle()
        #expect(app.tasks.count == 1)
        canceled.cancel()
        try await life.deliver()
        #expect(app.tasks.isEmpty)
        #expect(paused.state == .paused)
    }
}
