internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Requests that change a recorded download, and records that are no longer needed.
@Suite(.endsWhenHung)
struct BackgroundRecordTests {
    /// Starts a download, and pauses it with resume data.
    private func pause(
        _ app: BackgroundApp, _ life: BackgroundApp.Life, _ request: DownloadRequest
    ) async throws
        -> Download
    {
        let download = life.downloader.start(request)
        try await life.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try await life.deliver()
        download.pause()
        try await life.settle()
        try await life.deliver()
        return download
    }

    @Test func `a request that supersedes another one leaves it no destination`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let first = life.downloader.start(app.request(1, to: "a"))
        try await life.settle()
        var request = app.request(1, to: "b")
        request.duplicatePolicy = .cancelExisting
        let second = life.downloader.start(request)
        try await life.settle()
        #expect(await first.failure?.code == .superseded)
        #expect(app.tasks.count == 1)
        try app.finishAll()
        try await life.deliver()
        #expect(try await second.file.byteCount == 33)
        #expect(app.placedNames == ["b"])
        // With the same destination, the delivery is shared.
        var third = app.request(2, to: "c")
        _ = life.downloader.start(third)
        third.duplicatePolicy = .cancelExisting
        let last = life.downloader.start(third)
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        #expect(try await last.file.byteCount == 33)
    }

    @Test func `background 13: a file with resume data that has vanished costs only the bytes`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = try await pause(app, life, app.request(1))
        try FileManager.default.removeItem(atPath: "\(app.home)/journals/app/1-1.resume")
        download.resume()
        try await life.settle()
        #expect(app.tasks.first?.resumeData == nil)
        #expect(app.journal?.records.first?.resumeDataName == nil)
        try app.finishAll()
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
        #expect(app.service.directory.requestCount == 2)
    }

    @Test func `background 14: a resumed file with a wrong digest is fetched anew once`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        var request = app.request(1)
        request.checksum = .sha256(String(repeating: "0", count: 64))
        let download = try await pause(app, life, request)
        download.resume()
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        #expect(app.tasks.count == 1 && app.tasks.first?.resumeData == nil)
        try app.finishAll()
        try await life.deliver()
        #expect(await download.failure?.code == .checksumMismatch)
        #expect(app.service.directory.requestCount == 3 && app.placedNames == [] && app.spooledNames == [])
    }

    @Test func `background 8: a paused download whose task does not exist any more is paused`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        #expect(app.service.directory.remove(app.tasks[0]))
        download.pause()
        try await life.settle()
        app.time.advance(by: .seconds(10))
        try await life.settle()
        download.resume()
        try await life.settle()
        #expect(app.tasks.count == 1)
    }

    @Test func `a server that refuses the URL leads to a fresh one`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        var request = app.request(1)
        request.identity = "film"
        let contexts = SharedValue<[URLRefresh.Context]>([])
        request.refreshURL = URLRefresh { context in
            contexts.withLock { $0.append(context) }
            return FreshURL(context.url.deletingLastPathComponent().appending(path: "2"))
        }
        let download = life.downloader.start(request)
        try await life.settle()
        try app.service.finish(app.tasks[0], status: 403)
        try await life.deliver()
        while app.tasks.isEmpty { await Task.yield() }
        #expect(contexts.withLock { $0.map(\.reason) } == [.status(403)])
        #expect(app.tasks.first?.url == "https://example.org/2")
        try app.finishAll()
        try await life.deliver()
        #expect(try await download.file.finalURL.absoluteString == "https://example.org/2")
    }

    @Test func `a closure that fails, or that wants other headers, fails the download`() async throws {
        let app = try BackgroundApp()
        let life = app.launch { $0.retryPolicy = .never }
        let failures: [(URLRefresh, DownloadError.Code)] = [
            (URLRefresh { _ in throw CancellationError() }, .urlRefreshFailed),
            (URLRefresh { FreshURL($0.url, headers: ["Accept": "x"]) }, .unsupported),
            (URLRefresh { _ in FreshURL(URL(fileURLWithPath: "/a")) }, .invalidRequest),
        ]
        for (number, (refresh, code)) in failures.enumerated() {
            var request = app.request(number)
            request.refreshURL = refresh
            let download = life.downloader.start(request)
            try await life.settle()
            try app.service.finish(app.tasks[0], status: 410)
            try await life.deliver()
            #expect(await download.failure?.code == code)
        }
    }

    @Test func `the task has the headers of the request, and no content coding`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        var request = app.request(1)
        request.headers["Accept"] = "video/mp4"
        request.background.expectedByteCount = 33
        life.downloader.start(request)
        try await life.settle()
        let task = try #require(app.tasks.first)
        #expect(task.headers == [["Accept", "video/mp4"], ["Accept-Encoding", "identity"]])
        #expect(task.expectedByteCount == 33)
    }

    // MARK: What is no longer needed

    @Test func `the bytes of a canceled download are removed after their lifetime`() async throws {
        let app = try BackgroundApp()
        var life = app.launch()
        let download = try await pause(app, life, app.request(1))
        download.cancel()
        try await life.settle()
        life.kill()
        var options = BackgroundOptions()
        options.abandonedBytesLifetime = .seconds(100)
        for (seconds, count) in [(90, 1), (20, 0)] {
            app.time.advance(by: .seconds(seconds))
            life = app.launch(options: options)
            try await life.settle()
            #expect(app.spooledNames.count == count && app.journal?.records.count == count)
            life.kill()
        }
    }

    @Test func `an outcome that no handle has received is never removed`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        try app.finishAll()
        let first = app.launch()
        try await first.deliver()
        first.kill()
        var options = BackgroundOptions()
        options.abandonedBytesLifetime = .zero
        app.time.advance(by: .seconds(10_000_000))
        #expect(try await app.launch(options: options).restored()["1"]?.condition == .finished)
    }

    @Test func `background 15: a damaged journal can be moved out of the way`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        try Data("damaged".utf8).write(to: URL(fileURLWithPath: app.journalPath))
        let life = app.launch()
        #expect(await life.downloader.start(app.request(2)).failure?.code == .journalUnreadable)
        #expect(try await life.downloader.removeDamagedJournal())
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(app.journalPath).damaged")) == Data("damaged".utf8))
        let download = life.downloader.start(app.request(2))
        try await life.settle()
        for task in app.tasks where task.url.hasSuffix("/2") { try app.service.finish(task) }
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
        #expect(app.tasks.count == 1, "the task of the former journal is left alone")
        #expect(try await life.downloader.removeDamagedJournal() == false)
    }

    @Test func `a journal that is larger than the limit is unreadable`() throws {
        let app = try BackgroundApp()
        let path = "\(app.home)/journal"
        try JournalFile(disk: POSIXFileSystem(), path: path).write(.sample([.running]))
        guard case .unreadable = JournalFile(disk: POSIXFileSystem(), path: path, limit: 100).read() else {
            Issue.record("the file has more than 100 bytes")
            return
        }
    }

    @Test func `apps with one container have separate directories, and an app and its extension share one`() {
        var environment = BackgroundEnvironment(
            disk: SimulatedFileSystem(), containers: FixedContainers(home: "/home", groups: ["group.one": "/group"]),
            directory: ContainerPath(base: .home, relative: "journals"), time: ManualTimeSource(),
            lifecycle: ManualLifecycle(), makeDaemon: nil)
        #expect(environment.directory(of: "films", group: nil) == "/home/journals/films")
        environment.appName = "com.example.app"
        #expect(environment.directory(of: "films", group: nil) == "/home/journals/com.example.app/films")
        #expect(environment.directory(of: "films", group: "group.one") == "/group/journals/films")
    }
}
