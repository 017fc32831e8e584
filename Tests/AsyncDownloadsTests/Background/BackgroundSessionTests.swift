internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Downloads in a background session while the app lives.
@Suite(.endsWhenHung)
struct BackgroundSessionTests {
    @Test func `background 1: a session is made when it is needed, once`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        try await life.settle()
        #expect(life.daemons.all.isEmpty, "nothing is recorded and nothing is requested")
        life.downloader.start(app.request(1))
        life.downloader.start(app.request(2))
        try await life.settle()
        #expect(life.daemons.all.map(\.identifier) == ["app"])
        #expect(app.tasks.count == 2)
    }

    @Test func `a download reports its progress and its file`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        let events = download.events
        try await life.settle()
        #expect(download.state == .waiting)
        try app.service.progress(app.tasks[0], received: 3)
        try await life.deliver()
        #expect(download.state == .downloading)
        #expect(download.progress.receivedByteCount == 3)
        try app.finishAll()
        try await life.deliver()
        let file = try await download.file
        #expect(file.url.path == "\(app.home)/files/1")
        #expect(file.finalURL.absoluteString == "https://example.org/1")
        #expect(app.isInPlace(1) && app.spooledNames == [])
        var names: [String] = []
        for try await event in events {
            let name = String("\(event)".prefix(while: \.isLetter))
            if name != "progress" || names.last != name { names.append(name) }
        }
        #expect(names == ["waiting", "started", "progress", "verifying", "finished"])
        try await life.settle()
        #expect(app.journal?.isEmpty == true, "the outcome was reported")
    }

    @Test func `background 3: without a durable record, no task is started`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        try await life.settle()
        life.disk.failWrites(.noSpace)
        #expect(await life.downloader.start(app.request(1)).failure?.code == .diskFull)
        #expect(app.service.directory.requestCount == 0)
        life.disk.failWrites(nil)
        life.downloader.start(app.request(1))
        try await life.settle()
        #expect(app.service.directory.requestCount == 1)
    }

    @Test func `background 3: every task that the service has is in the journal`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        for number in 1...20 { life.downloader.start(app.request(number)) }
        try await life.settle()
        let journal = try #require(app.journal)
        let names = app.tasks.compactMap { DaemonTaskName($0.description) }
        #expect(names.count == 20 && names.allSatisfy { journal.record(for: $0)?.isHandedOver == true })
    }

    @Test func `background 7: a 404 is an error with its status`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.service.finish(app.tasks[0], status: 404)
        try await life.deliver()
        let error = await download.failure
        #expect(error?.code == .httpStatus && error?.statusCode == 404)
        #expect(app.placedNames == [] && app.spooledNames == [])
    }

    @Test func `background 14: a tail-only file is never placed, and one fresh start follows`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try await life.deliver()
        download.pause()
        try await life.settle()
        try await life.deliver()
        #expect(download.state == .paused)
        download.resume()
        try await life.settle()
        let resumed = try #require(app.tasks.first)
        #expect(resumed.resumeData != nil)
        try app.service.finish(resumed, isTailOnly: true)
        try await life.deliver()
        #expect(app.placedNames == [])
        let fresh = try #require(app.tasks.first)
        #expect(fresh.resumeData == nil)
        try app.finishAll()
        try await life.deliver()
        _ = try await download.file
        #expect(app.isInPlace(1))
    }

    @Test func `background 13: bogus resume data leads to one fresh start`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.service.fail(app.tasks[0], reason: "x", isRetryable: true, resumeData: Data("bogus".utf8))
        try await life.deliver()
        #expect(app.tasks.first?.resumeData == Data("bogus".utf8))
        try app.service.fail(app.tasks[0], reason: "cannot resume", isRetryable: false)
        try await life.deliver()
        #expect(app.tasks.count == 1 && app.tasks.first?.resumeData == nil)
        try app.service.fail(app.tasks[0], reason: "x", isRetryable: false)
        try await life.deliver()
        #expect(await download.failure?.code == .connectionLost)
        #expect(app.tasks.isEmpty)
    }

    @Test func `background 2 and 5: a file that vanished, and repeated events, do not end in a wrong outcome`()
        async throws
    {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.losesFiles = true
        let app = try BackgroundApp()
        let life = app.launch(misbehavior: misbehavior)
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        #expect(app.service.directory.requestCount == 2, "one fresh start")
        try app.finishAll()
        try await life.deliver()
        #expect(await download.failure?.code == .taskLost)
        #expect(app.service.directory.requestCount == 2, "never a loop")
    }

    @Test func `background 5: repeated events are processed once`() async throws {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.repeatsEvents = true
        let app = try BackgroundApp()
        let life = app.launch(misbehavior: misbehavior)
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        #expect(try await download.file.byteCount > 0)
        #expect(app.service.directory.requestCount == 1)
        #expect(app.placedNames == ["1"] && app.spooledNames == [])
    }

    // MARK: Handles

    @Test func `requests for one resource share a task, and each gets its file`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let downloads = ["a", "b", "a"].map { life.downloader.start(app.request(1, to: $0)) }
        #expect(downloads.map(\.isCoalesced) == [false, true, true])
        try await life.settle()
        #expect(app.tasks.count == 1)
        try app.finishAll()
        try await life.deliver()
        for download in downloads { _ = try await download.file }
        #expect(app.placedNames == ["a", "b"])
        #expect(app.isInPlace(1, at: "a") && app.isInPlace(1, at: "b"))
    }

    @Test func `two resources cannot have one destination`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        life.downloader.start(app.request(1, to: "a"))
        #expect(await life.downloader.start(app.request(2, to: "a")).failure?.code == .destinationInUse)
    }

    @Test func `canceling keeps the bytes, discarding does not, and other handles are not affected`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let first = life.downloader.start(app.request(1, to: "a"))
        let second = life.downloader.start(app.request(1, to: "b"))
        try await life.settle()
        first.cancel()
        try await life.settle()
        #expect(await first.failure?.code == .cancelled)
        #expect(app.tasks.count == 1)
        try app.service.progress(app.tasks[0], received: 3)
        try await life.deliver()
        second.cancel()
        try await life.settle()
        try await life.deliver()
        #expect(app.tasks.isEmpty && app.spooledNames == ["1-1.resume"])
        let third = life.downloader.start(app.request(1, to: "c"))
        try await life.settle()
        #expect(app.tasks.first?.resumeData != nil)
        third.discard()
        try await life.settle()
        try await life.deliver()
        #expect(app.tasks.isEmpty && app.spooledNames == [])
        #expect(app.journal?.isEmpty == true)
    }

    @Test func `canceling the task that awaits the file cancels the download`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let task = Task { [downloader = life.downloader, request = app.request(1)] in
            try await downloader.download(request)
        }
        while app.tasks.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        try await life.settle()
        #expect(app.tasks.isEmpty)
    }

    @Test func `a name that the server suggests replaces no file`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let folder = URL(fileURLWithPath: "\(app.home)/files")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("old".utf8).write(to: folder.appending(path: "film.mp4"))
        let download = life.downloader.start(DownloadRequest(from: app.request(1).url, into: folder))
        try await life.settle()
        try app.service.finish(app.tasks[0], headers: ["Content-Disposition": "attachment; filename=film.mp4"])
        try await life.deliver()
        #expect(try await download.file.url.lastPathComponent == "film-2.mp4")
        #expect(app.placedNames == ["film-2.mp4", "film.mp4"])
    }

    @Test func `a failure of the network is retried by the system after a delay`() async throws {
        let app = try BackgroundApp()
        let life = app.launch { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.service.finish(app.tasks[0], status: 503, headers: ["Retry-After": "120"])
        try await life.deliver()
        let begin = try #require(app.tasks.first?.earliestBegin)
        #expect(begin >= app.time.date.secondsSinceEpoch + 120)
        // The server has asked for a pause, which is not a failure.
        for _ in 1...2 {
            try app.service.finish(app.tasks[0], status: 503)
            try await life.deliver()
        }
        #expect(await download.failure?.statusCode == 503)
    }

    @Test func `background 20: neither a shutdown nor the release of a downloader cancels a task`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        await life.downloader.shutdown()
        #expect(await download.failure?.code == .shutDown)
        #expect(await life.downloader.start(app.request(2)).failure?.code == .shutDown)
        let errors = [
            await #expect(throws: DownloadError.self) { _ = try await life.downloader.restored() },
            await #expect(throws: DownloadError.self) { _ = try await life.downloader.removeDamagedJournal() },
        ]
        #expect(errors.map { $0?.code } == [.shutDown, .shutDown])
        #expect(app.tasks.count == 1)
        do {
            _ = Downloader(configuration: .background(identifier: "app"), backgroundSessions: life.sessions)
        }
        let next = Downloader(configuration: .background(identifier: "app"), backgroundSessions: life.sessions)
        // The session belongs to the next downloader.
        #expect(await life.downloader.start(app.request(2)).failure?.code == .shutDown)
        try app.finishAll()
        try await life.deliver()
        let restored = try await next.restored()
        #expect(restored.map(\.condition) == [.finished])
        #expect(try await restored[0].download.file.byteCount > 0)
        #expect(app.isInPlace(1))
    }
}
