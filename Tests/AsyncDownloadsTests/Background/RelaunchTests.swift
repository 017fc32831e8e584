internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Downloads in a background session whose app is killed and launched again.
@Suite(.endsWhenHung)
struct RelaunchTests {
    @Test func `background 1 and 4: the session is made again at launch, and its tasks are matched`() async throws {
        let app = try BackgroundApp()
        try await app.run(3)
        try app.service.progress(app.tasks[0], received: 4)
        try app.service.finish(app.tasks[1])
        try app.service.finish(app.tasks[1], status: 404)
        let life = app.launch()
        try await life.settle()
        #expect(life.daemons.all.count == 1, "without a call of the app")
        try await life.deliver()
        let downloads = try await life.restored()
        #expect(downloads.mapValues(\.condition) == ["1": .running, "2": .finished, "3": .failed])
        #expect(downloads["1"]?.download.progress.receivedByteCount == 4)
        #expect(try await downloads["2"]?.download.file.byteCount == 33)
        #expect(await downloads["3"]?.download.failure?.statusCode == 404)
        try app.finishAll()
        try await life.deliver()
        #expect(try await downloads["1"]?.download.file.byteCount == 33)
        #expect(app.placedNames == ["1", "2"] && app.spooledNames == [])
        #expect(app.service.directory.requestCount == 3, "nothing was fetched twice")
        try await life.settle()
        #expect(app.journal?.isEmpty == true)
    }

    @Test func `asking again joins the task of an earlier launch`() async throws {
        let app = try BackgroundApp()
        try await app.run(2)
        try app.service.finish(app.tasks[1])
        let life = app.launch()
        let downloads = [1, 2].map { life.downloader.start(app.request($0)) }
        try await life.deliver()
        #expect(downloads[0].state == .downloading)
        #expect(try await downloads[1].file.byteCount == 33)
        try app.finishAll()
        try await life.deliver()
        #expect(try await downloads[0].file.byteCount == 33)
        #expect(app.service.directory.requestCount == 2)
    }

    @Test func `an outcome is kept over launches until a handle has received it`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        try app.finishAll()
        for _ in 1...3 {
            let life = app.launch()
            try await life.settle()
            try await life.deliver()
            #expect(app.isInPlace(1))
            life.kill()
        }
        let life = app.launch()
        let downloads = try await life.restored()
        #expect(downloads["1"]?.condition == .finished)
        #expect(try await downloads["1"]?.download.file.byteCount == 33)
        try await life.settle()
        life.kill()
        #expect(try await app.launch().restored().isEmpty)
        #expect(app.service.directory.requestCount == 1)
    }

    @Test func `background 5: events that arrive before the match are processed after it, in order`() async throws {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.deliversAtOnce = true
        let app = try BackgroundApp()
        try await app.run(2)
        try app.service.progress(app.tasks[0], received: 4)
        try app.service.finish(app.tasks[0])
        try app.service.reportAllDelivered()
        let life = app.launch(misbehavior: misbehavior)
        let downloads = try await life.restored()
        #expect(downloads.mapValues(\.condition) == ["1": .finished, "2": .running])
        #expect(app.isInPlace(1))
    }

    @Test func `background 6: a file that an earlier process has only moved is used by the next one`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        let name = try #require(DaemonTaskName(app.tasks[0].description))
        let spool = Spool(disk: POSIXFileSystem(), directory: "\(app.home)/journals/app")
        let location = "\(app.home)/finished.tmp"
        try ScriptedService.content("https://example.org/1").write(to: URL(fileURLWithPath: location))
        #expect(app.service.directory.remove(app.tasks[0]))
        // The callback has returned, and the process was killed before anything else.
        _ = try spool.receive(
            name, from: location, DaemonResponseHead(status: 200, headers: [:], url: "https://example.org/1"))
        #expect(!FileManager.default.fileExists(atPath: location))
        let life = app.launch()
        #expect(try await life.restored()["1"]?.condition == .finished)
        try await life.settle()
        #expect(app.isInPlace(1) && app.spooledNames == [])
        #expect(app.service.directory.requestCount == 1)
    }

    @Test func `background 6: a body without the head of its response is never used`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        let name = try #require(DaemonTaskName(app.tasks[0].description))
        #expect(app.service.directory.remove(app.tasks[0]))
        let path = "\(app.home)/journals/app/\(name.fileStem).body"
        try Data("an error page".utf8).write(to: URL(fileURLWithPath: path))
        let life = app.launch()
        try await life.settle()
        app.time.advance(by: .seconds(10))
        try await life.settle()
        #expect(app.placedNames == [])
        #expect(app.service.directory.requestCount == 2)
    }

    @Test(arguments: [false, true])
    func `background 8: a task that is gone without an event is lost, and starts anew once`(
        isReported: Bool
    ) async throws {
        let app = try BackgroundApp()
        let first = app.launch()
        first.downloader.start(app.request(1))
        try await first.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try await first.deliver()
        first.downloader.start(app.request(2))
        try await first.settle()
        first.kill()
        #expect(app.service.directory.remove(app.tasks[0]))
        let life = app.launch()
        try await life.settle()
        #expect(app.service.directory.requestCount == 2, "an event may still arrive")
        if isReported {
            try app.service.reportAllDelivered()
            try await life.deliver()
        } else {
            app.time.advance(by: .seconds(10))
            try await life.settle()
        }
        let downloads = try await life.restored()
        #expect(downloads["1"]?.condition == .lost)
        #expect(app.service.directory.requestCount == 3)
        try app.service.progress(app.tasks[0], received: 3)
        try await life.deliver()
        life.kill()
        #expect(app.service.directory.remove(app.tasks[0]))
        let next = app.launch()
        try await next.settle()
        app.time.advance(by: .seconds(10))
        try await next.settle()
        let last = try await next.restored()
        #expect(last["1"]?.condition == .lost)
        #expect(await last["1"]?.download.failure?.code == .taskLost)
        #expect(app.service.directory.requestCount == 3, "never a loop")
    }

    @Test func `background 4 and 8: tasks without a description are left alone, and their downloads start anew`()
        async throws
    {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.losesDescriptions = true
        let app = try BackgroundApp()
        try await app.run(1)
        let life = app.launch(misbehavior: misbehavior)
        try await life.settle()
        app.time.advance(by: .seconds(10))
        try await life.settle()
        #expect(app.tasks.count == 2)
        try app.finishAll()
        try await life.deliver()
        #expect(app.isInPlace(1))
    }

    @Test func `background 8: a finished task that the list omits is not lost`() async throws {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.listsNothing = true
        let app = try BackgroundApp()
        try await app.run(1)
        try app.finishAll()
        let life = app.launch(misbehavior: misbehavior)
        try await life.settle()
        try await life.deliver()
        #expect(try await life.restored()["1"]?.condition == .finished)
        #expect(app.service.directory.requestCount == 1)
    }

    @Test(arguments: [BackgroundOptions.ForceQuitPolicy.pause, .restart])
    func `background 11: after a force-quit, the bytes are kept and the policy decides`(
        policy: BackgroundOptions.ForceQuitPolicy
    ) async throws {
        var options = BackgroundOptions()
        options.forceQuitPolicy = policy
        let app = try BackgroundApp()
        try await app.run(1, options: options)
        try app.service.fail(app.tasks[0], reason: "0", resumeData: Data("resume".utf8))
        let life = app.launch(options: options)
        try await life.settle()
        try await life.deliver()
        let download = try #require(try await life.restored()["1"])
        #expect(download.condition == (policy == .pause ? .paused : .running))
        download.download.resume()
        try await life.settle()
        #expect(app.tasks.first?.resumeData == Data("resume".utf8))
    }

    @Test(arguments: [("1", DownloadError.Code.backgroundNotPermitted), ("2", .systemResourcesExhausted)])
    func `background 12: the reasons of the system have distinct effects`(
        reason: String, code: DownloadError.Code
    ) async throws {
        let app = try BackgroundApp()
        let first = app.launch { $0.retryPolicy = .never }
        first.downloader.start(app.request(1))
        try await first.settle()
        first.kill()
        try app.service.fail(app.tasks[0], reason: reason, resumeData: Data("resume".utf8))
        let life = app.launch()
        try await life.settle()
        try await life.deliver()
        let restored = try await life.restored()
        #expect(restored["1"]?.condition == .failed)
        #expect(await restored["1"]?.download.failure?.code == code)
        try await life.settle()
        life.downloader.start(app.request(1))
        try await life.settle()
        #expect(app.tasks.first?.resumeData == Data("resume".utf8), "the bytes are kept for the next request")
    }

    @Test func `a pause lasts over launches, also if the process ends before the task was canceled`() async throws {
        let app = try BackgroundApp()
        let first = app.launch()
        let download = first.downloader.start(app.request(1))
        try await first.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try await first.deliver()
        download.pause()
        try await first.settle()
        // The event with the resume data was not delivered.
        first.kill()
        let life = app.launch()
        try await life.settle()
        try await life.deliver()
        let restored = try await life.restored()
        #expect(restored["1"]?.condition == .paused)
        #expect(app.tasks.isEmpty)
        restored["1"]?.download.resume()
        try await life.settle()
        #expect(app.tasks.first?.resumeData != nil)
    }
}
