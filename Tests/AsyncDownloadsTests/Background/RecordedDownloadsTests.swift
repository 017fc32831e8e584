internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Uses of the journal of a background session: updates of the app, other options, and many downloads.
@Suite(.endsWhenHung(minutes: 12))
struct RecordedDownloadsTests {
    @Test func `background 15: a journal that cannot be read stops everything and is not overwritten`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        let intact = try Data(contentsOf: URL(fileURLWithPath: app.journalPath))
        let damaged = Data("damaged".utf8)
        try damaged.write(to: URL(fileURLWithPath: app.journalPath))
        let life = app.launch()
        #expect(await life.downloader.start(app.request(2)).failure?.code == .journalUnreadable)
        await #expect(throws: DownloadError.self) { try await life.downloader.restored() }
        #expect(await life.sessions.handleEvents(for: "app"), "the session is not foreign")
        #expect(try Data(contentsOf: URL(fileURLWithPath: app.journalPath)) == damaged)
        #expect(life.daemons.all.isEmpty)
        // As after the first unlock of the device.
        try intact.write(to: URL(fileURLWithPath: app.journalPath))
        #expect(try await life.restored()["1"]?.condition == .running)
    }

    @Test func `background 16: an update moves the container, and the file arrives in the new one`() async throws {
        let app = try BackgroundApp()
        try await app.run(2)
        try app.service.finish(app.tasks[0])
        let old = app.home
        try app.update()
        #expect(app.home != old)
        let life = app.launch()
        try await life.settle()
        try await life.deliver()
        let downloads = try await life.restored()
        #expect(try await downloads["1"]?.download.file.url.path == "\(app.home)/files/1")
        let again = life.downloader.start(app.request(2))
        #expect(again.isCoalesced)
        try app.finishAll()
        try await life.deliver()
        _ = try await again.file
        #expect(app.isInPlace(1) && app.isInPlace(2))
        #expect(!FileManager.default.fileExists(atPath: old))
        #expect(app.service.directory.requestCount == 2)
        #expect(try String(contentsOfFile: app.journalPath, encoding: .utf8).contains(old) == false)
    }

    @Test func `background 18: changed options start new tasks in another session, and keep the old one`() async throws
    {
        let app = try BackgroundApp()
        try await app.run(1)
        var options = BackgroundOptions()
        options.isDiscretionary = true
        let life = app.launch(options: options)
        life.downloader.start(app.request(2))
        try await life.settle()
        #expect(life.daemons.all.map(\.identifier).sorted() == ["app", "app.generation-1"])
        #expect(life.daemons.all.first { $0.identifier == "app" }?.options == BackgroundOptions())
        #expect(life.daemons.all.first { $0.identifier != "app" }?.options == options)
        #expect(life.daemons.all.first { $0.identifier != "app" }?.startCount == 1)
        life.kill()
        let same = app.launch(options: options)
        same.downloader.start(app.request(3))
        try await same.settle()
        #expect(app.journal?.generations.map(\.number) == [0, 1], "the same options make no generation")
        #expect(same.sessions.session(for: "app.generation-1")?.generation == 1)
    }

    @Test func `background 17: many downloads are handed over up to the limit and topped up in the foreground`()
        async throws
    {
        let app = try BackgroundApp()
        var options = BackgroundOptions()
        options.maximumTaskCount = 40
        let life = app.launch(options: options)
        let downloads = (1...200).map { life.downloader.start(app.request($0)) }
        try await life.settle()
        #expect(app.tasks.count == 40)
        #expect(app.journal?.records.count == 200)
        #expect(life.disk.syncCount < 80, "requests that wait together are recorded together")
        life.kill()
        #expect(downloads.count == 200)
        app.lifecycle.enterBackground()
        try app.finishAll()
        let next = app.launch(options: options)
        try await next.settle()
        try await next.deliver()
        #expect(app.placedNames.count == 40)
        #expect(app.tasks.isEmpty, "nothing is started in the background")
        app.lifecycle.enterForeground()
        try await next.settle()
        for _ in 1...4 {
            #expect(app.tasks.count == 40)
            try app.finishAll()
            try await next.deliver()
        }
        #expect(app.placedNames.count == 200)
        #expect(app.service.directory.requestCount == 200)
        let restored = try await next.downloader.restored()
        #expect(restored.count == 200 && restored.allSatisfy { $0.condition == .finished })
    }

    @Test func `background 20: progress is read again when the app returns to the foreground`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        app.lifecycle.enterBackground()
        var task = app.tasks[0]
        (task.received, task.expected) = (7, 33)
        try app.service.directory.save(task)
        app.lifecycle.enterForeground()
        try await life.settle()
        #expect(download.progress.receivedByteCount == 7)
    }
}
