internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The system's call for handling the events of a background session.
@Suite(.endsWhenHung)
struct BackgroundEventsTests {
    /// Whether a call has returned.
    private final class Flag: Sendable {
        private let value = Mutex(0)

        var count: Int { value.withLock { $0 } }

        func raise() { value.withLock { $0 += 1 } }
    }

    private func settle(_ sessions: BackgroundSessions) async {
        guard let (session, _) = sessions.session(for: "app") else { return }
        for _ in 0..<8 { await session.settled() }
    }

    private func start(_ count: Int, in app: BackgroundApp) async throws {
        let life = app.launch()
        for number in 1...count { life.downloader.start(app.request(number)) }
        try await life.settle()
        life.kill()
    }

    @Test func `background 9: the call returns after all events, with the files in place and tasks still running`()
        async throws
    {
        let app = try BackgroundApp()
        try await start(3, in: app)
        try app.service.finish(app.tasks[0])
        try app.service.finish(app.tasks[0])
        let (sessions, _, daemons) = app.process()
        let flag = Flag()
        let call = Task {
            let isMine = await sessions.handleEvents(for: "app")
            flag.raise()
            return isMine
        }
        // No downloader exists; the session is made from the journal's options.
        while daemons.all.isEmpty { await Task.yield() }
        await settle(sessions)
        for daemon in daemons.all { daemon.deliver() }
        await settle(sessions)
        #expect(app.placedNames == ["1", "2"])
        #expect(flag.count == 0, "events done is what counts, not files")
        try app.service.reportAllDelivered()
        for daemon in daemons.all { daemon.deliver() }
        #expect(await call.value)
        #expect(app.tasks.count == 1, "events done is not tasks done")
    }

    @Test func `background 9: files are in place when the call returns, whatever the queue was doing`() async throws {
        let app = try BackgroundApp()
        try await start(20, in: app)
        try app.finishAll()
        try app.service.reportAllDelivered()
        let (sessions, _, daemons) = app.process()
        let placed = Mutex<Int?>(nil)
        let call = Task {
            _ = await sessions.handleEvents(for: "app")
            placed.withLock { $0 = app.placedNames.count }
        }
        // The session may not have attached to its daemon yet, so that nothing is delivered.
        while placed.withLock({ $0 }) == nil {
            for daemon in daemons.all { daemon.deliver() }
            await Task.yield()
        }
        await call.value
        #expect(placed.withLock { $0 } == 20)
    }

    @Test func `background 9: each session has its own call, and a call ends after some time in any case`() async throws
    {
        let app = try BackgroundApp()
        try await start(1, in: app)
        let (sessions, _, daemons) = app.process()
        let call = Task { await sessions.handleEvents(for: "app") }
        while daemons.all.isEmpty { await Task.yield() }
        await app.time.timer(ofAtLeast: .seconds(25))
        app.time.advance(by: .seconds(25))
        #expect(await call.value)
    }

    @Test @MainActor
    func `background 9: the completion handler is called once, on the main thread`() async throws {
        let app = try BackgroundApp()
        try await start(1, in: app)
        let (sessions, _, daemons) = app.process()
        let flag = Flag()
        let (calls, continuation) = AsyncStream.makeStream(of: Void.self)
        let isMine = sessions.handleEvents(for: "app") {
            MainActor.assertIsolated()
            flag.raise()
            continuation.yield()
        }
        #expect(isMine)
        while daemons.all.isEmpty { await Task.yield() }
        try app.finishAll()
        try app.service.reportAllDelivered()
        try app.service.reportAllDelivered()
        await settle(sessions)
        for daemon in daemons.all { daemon.deliver() }
        for await _ in calls { break }
        await settle(sessions)
        app.time.advance(by: .seconds(60))
        await settle(sessions)
        #expect(flag.count == 1)
        #expect(app.isInPlace(1))
    }

    @Test @MainActor
    func `background 10: a session of another library is not handled`() async throws {
        let app = try BackgroundApp()
        try await start(1, in: app)
        let (sessions, _, daemons) = app.process()
        #expect(await sessions.handleEvents(for: "another") == false)
        #expect(await sessions.handleEvents(for: "app.generation") == false)
        #expect(!sessions.handleEvents(for: "another") { Issue.record("the handler belongs to the other library") })
        #expect(daemons.all.isEmpty)
    }
}
