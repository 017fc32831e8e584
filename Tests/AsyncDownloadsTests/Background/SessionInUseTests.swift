internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Sessions that end, because another process uses them or for another reason.
@Suite(.endsWhenHung)
struct SessionInUseTests {
    /// Advances the time in steps, and processes the resulting events.
    private func wait(_ seconds: Int, step: Int, _ app: BackgroundApp, _ life: BackgroundApp.Life) async throws {
        for _ in 0..<(seconds / step) {
            app.time.advance(by: .seconds(step))
            try await life.settle()
        }
    }

    @Test func `background 23: a session that another process has is made again with growing delays`() async throws {
        let app = try BackgroundApp()
        try await app.run(3)
        try app.service.directory.hold("app", elsewhere: true)
        let life = app.launch()
        try await life.settle()
        let restored = try await life.restored()
        #expect(restored.mapValues(\.condition) == ["1": .running, "2": .running, "3": .running])
        try await wait(3600, step: 10, app, life)
        let count = life.daemons.all.count
        #expect((8...16).contains(count), "\(count) sessions")
        #expect(app.service.directory.requestCount == 3, "nothing is lost")
        #expect(restored.values.allSatisfy { $0.download.state == .downloading })
        // The other process has ended.
        try app.service.directory.hold("app", elsewhere: false)
        try await wait(610, step: 10, app, life)
        #expect(life.daemons.all.count == count + 1)
        try app.finishAll()
        try await life.deliver()
        for number in 1...3 { #expect(try await restored["\(number)"]?.download.file.byteCount == 33) }
        #expect(app.service.directory.requestCount == 3)
    }

    @Test func `background 23: in the background, the next session waits for the foreground`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        try app.service.directory.hold("app", elsewhere: true)
        app.lifecycle.enterBackground()
        let life = app.launch()
        try await wait(3600, step: 60, app, life)
        #expect(life.daemons.all.count == 1)
        try app.service.directory.hold("app", elsewhere: false)
        app.lifecycle.enterForeground()
        try await life.settle()
        #expect(life.daemons.all.count == 2)
        try app.finishAll()
        try await life.deliver()
        #expect(app.isInPlace(1) && app.service.directory.requestCount == 1)
    }

    @Test func `background 23: the system's call for events makes a session at once`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        try app.finishAll()
        try app.service.reportAllDelivered()
        try app.service.directory.hold("app", elsewhere: true)
        app.lifecycle.enterBackground()
        let life = app.launch()
        try await life.settle()
        try app.service.directory.hold("app", elsewhere: false)
        let call = Task { await life.sessions.handleEvents(for: "app") }
        while life.daemons.all.count < 2 { await Task.yield() }
        try await life.deliver()
        #expect(await call.value)
        #expect(app.isInPlace(1) && app.service.directory.requestCount == 1)
    }

    @Test(arguments: [true, false])
    func `background 23: a request for a session that another process has fails, and a later one finishes`(
        isRecordedBefore: Bool
    ) async throws {
        let app = try BackgroundApp()
        if isRecordedBefore { try await app.run(1) }
        try app.service.directory.hold("app", elsewhere: true)
        let life = app.launch()
        let error = await life.downloader.start(app.request(2)).failure
        #expect(error?.code == .sessionInUse && error?.isRetryable == true)
        // The error is known, so that the next request fails at once.
        #expect(await life.downloader.start(app.request(3)).failure?.code == .sessionInUse)
        // A request for a task that the service has waits for it.
        let joined = isRecordedBefore ? life.downloader.start(app.request(1)) : nil
        let count = life.daemons.all.count
        #expect(count <= 2)
        try app.service.directory.hold("app", elsewhere: false)
        try await wait(4, step: 1, app, life)
        let download = life.downloader.start(app.request(2))
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
        if let joined { #expect(try await joined.file.byteCount == 33) }
        #expect(app.service.directory.requestCount == (isRecordedBefore ? 2 : 1))
    }

    @Test(arguments: [true, false])
    func `background 23: a task that a session without tasks does not start waits for the next session`(
        isReported: Bool
    ) async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        life.downloader.start(app.request(1))
        try await life.settle()
        let daemon = try #require(life.daemons.all.first)
        daemon.invalidate(isReported: false)
        let download = life.downloader.start(app.request(2))
        if isReported { daemon.reportInvalidation() }
        try await life.settle()
        #expect(life.daemons.all.count == 2 && app.tasks.count == 2)
        daemon.reportInvalidation(DownloadError(.sessionInUse))
        try await life.settle()
        #expect(life.daemons.all.count == 2, "a late report about an earlier session")
        try app.finishAll()
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
        #expect(app.service.directory.requestCount == 2)
    }

    @Test func `background 23: a list that is not possible says nothing about the tasks`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try await life.deliver()
        let daemon = try #require(life.daemons.all.first)
        daemon.invalidate(isReported: false)
        try app.service.directory.hold("app", elsewhere: true)
        // The task of a canceled attempt is not found, and the second list fails as well.
        download.pause()
        try await life.settle()
        try await wait(100, step: 10, app, life)
        #expect(app.tasks.count == 1 && app.service.directory.requestCount == 1)
        try app.service.directory.hold("app", elsewhere: false)
        try await wait(700, step: 10, app, life)
        try await life.deliver()
        #expect(download.state == .paused && app.tasks.isEmpty, "the next session has canceled the task")
        download.resume()
        try await life.settle()
        #expect(app.tasks.first?.resumeData != nil)
    }

    @Test func `background 23: sessions that end again and again are made with growing delays`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        life.downloader.start(app.request(1))
        try await life.settle()
        for _ in 1...600 {
            life.daemons.all.last?.invalidate()
            try await wait(1, step: 1, app, life)
        }
        #expect((8...14).contains(life.daemons.all.count), "\(life.daemons.all.count) sessions")
        #expect(app.service.directory.requestCount == 1)
        // A session that has lasted for some time is created again at once.
        try await wait(1200, step: 60, app, life)
        let count = life.daemons.all.count
        life.daemons.all.last?.invalidate()
        try await life.settle()
        #expect(life.daemons.all.count == count + 1)
    }

    @Test func `background 23: a task that ends because the session is in use keeps what it continues from`() {
        var core = BackgroundCore(.sample([.resumed]))
        core.journal.update(1) { $0.resource.maximumRetryCount = 1 }
        let error = DownloadError(.sessionInUse, isRetryable: true)
        let actions = core.handle(.failed(core.journal.name(1), .transfer(error), resumeData: nil))
        #expect(actions.starts == [core.journal.name(1, attempt: 2)] && actions.removedFiles == [])
        #expect(core.journal[1]?.resumeDataName == "1-0.resume" && core.journal[1]?.freshStartCount == 0)
        let last = core.handle(.failed(core.journal.name(1, attempt: 2), .transfer(error), resumeData: nil))
        #expect(last.failures == ["sessionInUse"])
        #expect(core.journal[1]?.resumeDataName == "1-0.resume")
    }
}
