internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// A session whose journal an app and its extension share in the container of an app group.
@Suite(.endsWhenHung)
struct AppGroupTests {
    private var options: BackgroundOptions {
        var options = BackgroundOptions()
        options.sharedContainerIdentifier = "group.one"
        return options
    }

    private func groupJournal(_ app: BackgroundApp) throws -> BackgroundJournal {
        let path = "\(app.groupHome)/journals/app/journal"
        return try #require(try JournalFile(disk: POSIXFileSystem(), path: path).journal())
    }

    /// Starts a download in the extension, which then ends.
    private func runExtension(_ app: BackgroundApp, _ number: Int) async throws {
        let life = app.launch(options: options, container: app.extensionHome)
        life.downloader.start(app.sharedRequest(number))
        try await life.settle()
        life.kill()
    }

    @Test func `background 16: a running app places the files of its extension`() async throws {
        let app = try BackgroundApp()
        let life = app.launch(options: options)
        #expect(try await life.restored().isEmpty)
        try await runExtension(app, 1)
        #expect(app.tasks.count == 1)
        // The system wakes the app for the tasks of the extension.
        try app.finishAll()
        try app.service.reportAllDelivered()
        let call = Task { await life.sessions.handleEvents(for: "app") }
        while life.daemons.all.isEmpty { await Task.yield() }
        try await life.deliver()
        #expect(await call.value)
        #expect(app.isShared(1))
        #expect(try await life.restored()["1"]?.condition == .finished)
        #expect(app.service.directory.requestCount == 1)
    }

    @Test func `background 4 and 16: a running app neither cancels nor forgets the tasks of its extension`()
        async throws
    {
        let app = try BackgroundApp()
        let life = app.launch(options: options)
        life.downloader.start(app.sharedRequest(1))
        try await life.settle()
        try await runExtension(app, 2)
        #expect(app.tasks.count == 2)
        // The app's next change of the journal keeps the record of the extension.
        life.downloader.start(app.sharedRequest(3))
        try await life.settle()
        #expect(try groupJournal(app).records.map(\.id) == [1, 2, 3])
        try app.finishAll()
        try await life.deliver()
        #expect((1...3).allSatisfy { app.isShared($0) })
        #expect(app.service.directory.requestCount == 3)
    }

    @Test func `background 4: the file of a task that the app does not know yet stays in the spool`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        let journal = try #require(app.journal)
        var core = BackgroundCore(journal)
        let unknown = journal.name(journal.lastNumber + 1)
        #expect(core.handle(.finished(unknown, .sample(unknown))).isEmpty)
    }

    @Test func `background 16: the extension continues what the app has recorded, with the same token`() async throws {
        let app = try BackgroundApp()
        try await app.run(2, options: options)
        let token = try groupJournal(app).token
        try app.service.finish(app.tasks[0])
        let life = app.launch(options: options, container: app.extensionHome)
        try await life.deliver()
        let restored = try await life.restored()
        #expect(restored.mapValues(\.condition) == ["1": .finished, "2": .running])
        #expect(try groupJournal(app).token == token)
        #expect(app.isShared(1))
    }

    @Test func `background 16: the journal of the app names the group for a launch without a downloader`() async throws
    {
        let app = try BackgroundApp()
        try await app.run(1, options: options)
        try app.finishAll()
        try app.service.reportAllDelivered()
        let (sessions, _, daemons) = app.process()
        let call = Task { await sessions.handleEvents(for: "app") }
        while daemons.all.isEmpty { await Task.yield() }
        let session = try #require(sessions.session(for: "app")?.session)
        for _ in 0..<8 { await session.settled() }
        for daemon in daemons.all { daemon.deliver() }
        #expect(await call.value)
        #expect(app.isShared(1))
    }

    @Test func `the container of unfinished downloads cannot be changed`() async throws {
        let app = try BackgroundApp()
        try await app.run(1, options: options)
        let life = app.launch()
        #expect(await life.downloader.start(app.sharedRequest(2)).failure?.code == .unsupported)
        life.kill()
        let same = app.launch(options: options)
        #expect(try await same.restored()["1"]?.condition == .running)
    }

    @Test func `background 16: a destination that only one of the processes can reach is refused`() async throws {
        let app = try BackgroundApp()
        let life = app.launch(options: options)
        #expect(await life.downloader.start(app.request(1)).failure?.code == .destinationUnusable)
    }

    @Test func `an app group that this process cannot access is refused`() async throws {
        var options = BackgroundOptions()
        options.sharedContainerIdentifier = "group.other"
        let app = try BackgroundApp()
        let life = app.launch(options: options)
        #expect(await life.downloader.start(app.sharedRequest(1)).failure?.code == .unsupported)
    }

    @Test func `two processes that use a session at the same time receive an error`() async throws {
        let app = try BackgroundApp()
        let life = app.launch(options: options)
        life.downloader.start(app.sharedRequest(1))
        try await life.settle()
        let path = "\(app.groupHome)/journals/app/journal"
        let file = JournalFile(disk: POSIXFileSystem(), path: path)
        // Both have read the same journal, and both add a record.
        var own = try SharedJournalFile(file) { () throws(DownloadError) -> BackgroundJournal in
            throw DownloadError(.storageFailure)
        }
        var other = own
        var (mine, theirs) = (own.journal, own.journal)
        _ = mine.add(BackgroundResource(url: "https://example.org/a"))
        _ = theirs.add(BackgroundResource(url: "https://example.org/b"))
        #expect(try other.write(theirs) == theirs)
        #expect(throws: DownloadError.self) { try own.write(mine) }
        #expect(try file.journal() == theirs)
    }

    @Test func `the lock of a shared journal is held only while it is read or written`() async throws {
        let app = try BackgroundApp()
        let life = app.launch(options: options)
        life.downloader.start(app.sharedRequest(1))
        try await life.settle()
        let disk = POSIXFileSystem()
        let lock = try disk.open("\(app.groupHome)/journals/app/journal.lock", .existing)
        defer { disk.close(lock) }
        #expect(try disk.lock(lock), "the app is not about to use the journal")
        life.downloader.start(app.sharedRequest(2))
        try await life.settle()
        #expect(app.tasks.count == 1, "without the lock, no record is durable")
    }
}
