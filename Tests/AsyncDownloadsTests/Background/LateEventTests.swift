internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Events that arrive after their task was considered lost, or shortly before.
@Suite(.endsWhenHung)
struct LateEventTests {
    @Test func `background 8: each event restarts the wait for those of other tasks, up to a limit`() async throws {
        let app = try BackgroundApp()
        try await app.run(9)
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.listsNothing = true
        let life = app.launch(misbehavior: misbehavior)
        try await life.settle()
        for number in 1...8 {
            app.time.advance(by: .seconds(9))
            let task = try #require(app.tasks.first)
            try app.service.finish(task)
            try await life.deliver()
            // The last task has no event, and restored() must not wait for it forever.
            let expected = number < 8 ? 9 : 10
            if number == 7 {
                #expect(app.service.directory.requestCount == 9, "after \(number) events")
                app.time.advance(by: .seconds(10))
                try await life.settle()
                #expect(app.service.directory.requestCount > 9)
                break
            }
            #expect(app.service.directory.requestCount == 9, "after \(number) events, \(expected)")
        }
    }

    @Test func `background 8: a whole file of a task that was taken for lost is used, and its successor is canceled`()
        async throws
    {
        let app = try BackgroundApp()
        let first = app.launch()
        first.downloader.start(app.request(1))
        try await first.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try await first.deliver()
        first.kill()
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.listsNothing = true
        let life = app.launch(misbehavior: misbehavior)
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        app.time.advance(by: .seconds(10))
        try await life.settle()
        #expect(app.tasks.count == 2)
        let late = try #require(app.tasks.first { DaemonTaskName($0.description)?.attempt == 1 })
        try app.service.finish(late)
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
        #expect(app.isInPlace(1) && app.tasks.isEmpty)
        try await life.deliver()
        #expect(app.spooledNames == [])
        try await life.settle()
        #expect(app.journal?.isEmpty == true)
    }

    @Test func `background 8: a late error page, a tail, or a file without a length changes nothing`() {
        var core = BackgroundCore(.sample([.running]))
        let late = core.journal.name(1)
        _ = core.lost(1)
        #expect(core.journal[1]?.attempt == 2)
        let before = core.journal
        let bodies: [Spool.Body] = [
            .sample(late, status: 404, headers: ["Content-Length": "10"]),
            .sample(late, status: 206, byteCount: 6, headers: ["Content-Range": "bytes 4-9/10"]), .sample(late),
        ]
        for body in bodies { #expect(core.handle(.finished(late, body)).removedFiles == ["1-1.body"]) }
        #expect(core.journal == before)
        let whole = core.handle(.finished(late, .sample(late, headers: ["Content-Length": "10"])))
        #expect(whole.cancels == [core.journal.name(1, attempt: 2)] && whole.places == [1])
    }

    @Test func `background 8: the events of one generation decide nothing about another one`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        var options = BackgroundOptions()
        options.isDiscretionary = true
        let second = app.launch(options: options)
        second.downloader.start(app.request(2))
        try await second.settle()
        second.kill()
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.listsNothing = true
        let life = app.launch(options: options, misbehavior: misbehavior)
        try await life.settle()
        let events = try #require(life.daemons.all.first { $0.identifier == "app.generation-1" })
        try app.service.reportAllDelivered()
        events.deliver()
        try await life.settle()
        let started = Set(life.daemons.all.filter { $0.startCount > 0 }.map(\.identifier))
        #expect(app.service.directory.requestCount == 3 && started == ["app.generation-1"])
        let attempts = app.journal?.records.map(\.attempt)
        #expect(attempts == [1, 2], "events of the first generation may still arrive")
    }

    @Test func `background 8: a progress event does not say that a listed task is running`() {
        let journal = BackgroundJournal.sample([.running])
        let plan = RelaunchPlan(
            journal, tasks: [], events: [.progressed(journal.name(1), received: 1, expected: nil)],
            isEverythingDelivered: false)
        #expect(plan.verdicts[1] == .undecided)
    }

    @Test func `background 13: the resume data of a canceled task may arrive after its end`() async throws {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.delaysResumeData = true
        let app = try BackgroundApp()
        let life = app.launch(misbehavior: misbehavior)
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try await life.deliver()
        download.pause()
        try await life.settle()
        try await life.deliver()
        #expect(download.state == .paused && app.spooledNames == ["1-1.resume"])
        download.resume()
        try await life.settle()
        #expect(app.tasks.first?.resumeData != nil)
    }

    @Test func `background 5: events in reverse order have the same outcomes`() async throws {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.reordersEvents = true
        let app = try BackgroundApp()
        let life = app.launch(misbehavior: misbehavior)
        let downloads = (1...4).map { life.downloader.start(app.request($0)) }
        try await life.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try app.finishAll()
        try await life.deliver()
        for download in downloads { #expect(try await download.file.byteCount == 33) }
        #expect(app.service.directory.requestCount == 4 && app.spooledNames == [])
    }

    @Test func `restored() returns although the system never lists its tasks`() async throws {
        var misbehavior = ScriptedDaemon.Misbehavior()
        misbehavior.neverLists = true
        let app = try BackgroundApp()
        try await app.run(1)
        let life = app.launch(misbehavior: misbehavior)
        let call = Task { try await life.restored() }
        try await life.settle()
        for _ in 1...3 {
            app.time.advance(by: .seconds(30))
            try await life.settle()
        }
        #expect(try await call.value["1"]?.condition == .running, "nothing is known about it")
        #expect(app.service.directory.requestCount == 1)
        try app.finishAll()
        try await life.deliver()
        #expect(app.isInPlace(1))
    }

    @Test func `background 1: a session that the system has invalidated is made again, and keeps its tasks`()
        async throws
    {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        life.daemons.all.first?.invalidate()
        try await life.settle()
        #expect(life.daemons.all.count == 2)
        app.time.advance(by: .seconds(10))
        try await life.settle()
        #expect(app.service.directory.requestCount == 1)
        try app.finishAll()
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
    }
}
