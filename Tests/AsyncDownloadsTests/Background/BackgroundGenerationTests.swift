internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Changed options of a background session.
@Suite(.endsWhenHung)
struct BackgroundGenerationTests {
    private func options(_ change: (inout BackgroundOptions) -> Void) -> BackgroundOptions {
        var options = BackgroundOptions()
        change(&options)
        return options
    }

    @Test func `background 18: without tasks, changed options do not change the identifier`() {
        var journal = BackgroundJournal.sample([.idle(resumeData: nil)])
        journal.use(options { $0.isDiscretionary = true })
        #expect(journal.generations.map(\.number) == [0])
        #expect(journal.current.options.isDiscretionary)
    }

    @Test func `background 18: the number of an ended generation is used again, unless its session exists`() {
        var journal = BackgroundJournal.sample([.running])
        journal.use(options { $0.isDiscretionary = true })
        #expect(journal.generations.map(\.number) == [0, 1])
        journal.update(1) { $0.generation = 1 }
        var reserved = journal
        journal.use(options { $0.sendsLaunchEvents = false })
        #expect(journal.generations.map(\.number) == [1, 0])
        reserved.use(options { $0.sendsLaunchEvents = false }, reserving: [0])
        #expect(reserved.generations.map(\.number) == [1, 2])
    }

    @Test func `background 18: a return to earlier options uses the generation that still has tasks`() {
        var journal = BackgroundJournal.sample([.running, .running])
        journal.use(options { $0.isDiscretionary = true })
        journal.update(2) { $0.generation = 1 }
        journal.use(BackgroundOptions())
        #expect(journal.generations.map(\.number) == [1, 0] && journal.current.options == BackgroundOptions())
    }

    @Test func `background 18: each setting of the system's session makes a generation`() {
        let others = [
            options { $0.isDiscretionary = true }, options { $0.sendsLaunchEvents = false },
            options { $0.sharedContainerIdentifier = "group.one" },
        ]
        for other in others { #expect(!other.configuresTasks(like: BackgroundOptions())) }
    }

    @Test func `background 18: the resource timeout is a setting of the session, and the policies are not`() {
        let other = options { $0.resourceTimeout = .seconds(60) }
        #expect(!other.configuresTasks(like: BackgroundOptions()))
        let policies = options {
            ($0.forceQuitPolicy, $0.finalURLPolicy) = (.restart, .any)
            ($0.maximumTaskCount, $0.abandonedBytesLifetime) = (1, .zero)
        }
        #expect(policies.configuresTasks(like: BackgroundOptions()))
    }

    @Test func `background 18: options are read as they were recorded, and missing ones have their defaults`() throws {
        let other = options {
            ($0.resourceTimeout, $0.maximumTaskCount, $0.sharedContainerIdentifier) = (.seconds(60), 7, "group.one")
            ($0.forceQuitPolicy, $0.finalURLPolicy) = (.restart, .any)
            ($0.isDiscretionary, $0.sendsLaunchEvents) = (true, false)
            $0.abandonedBytesLifetime = .seconds(5)
        }
        let decoder = JSONDecoder()
        #expect(try decoder.decode(BackgroundOptions.self, from: JSONEncoder().encode(other)) == other)
        let old = try decoder.decode(BackgroundOptions.self, from: Data(#"{"maximumTaskCount":7}"#.utf8))
        let expected = options { $0.maximumTaskCount = 7 }
        #expect(old == expected)
    }

    @Test func `background 9: the events of a generation that has ended are handled at once`() async throws {
        let app = try BackgroundApp()
        try await app.run(1, options: options { $0.isDiscretionary = true })
        let (sessions, _, _) = app.process()
        // No time passes, so a wait would not end.
        #expect(await sessions.handleEvents(for: "app.generation-3"))
    }

    @Test func `background 9: each generation has its own report of its events`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        let life = app.launch(options: options { $0.isDiscretionary = true })
        life.downloader.start(app.request(2))
        try await life.settle()
        let session = try #require(try life.downloader.background?.session.get())
        let reported = SharedValue<[Int]>([])
        for generation in [0, 1] {
            session.submit { worker in
                worker.whenDelivered(generation) { reported.withLock { $0.append(generation) } }
            }
        }
        try await life.settle()
        try app.service.reportAllDelivered()
        life.daemons.all.first { $0.identifier == "app.generation-1" }?.deliver()
        try await life.settle()
        #expect(reported.withLock { $0 } == [1])
        try app.service.reportAllDelivered()
        life.daemons.all.first { $0.identifier == "app" }?.deliver()
        try await life.settle()
        #expect(reported.withLock { $0 } == [1, 0])
    }

    @Test func `background 9: a report that comes shortly before the call counts, and an old one does not`()
        async throws
    {
        let app = try BackgroundApp()
        try await app.run(1)
        let life = app.launch()
        try app.service.reportAllDelivered()
        try await life.deliver()
        #expect(await life.sessions.handleEvents(for: "app"), "no time passes, so a wait would not end")
        try app.service.reportAllDelivered()
        try await life.deliver()
        app.time.advance(by: .seconds(6))
        let session = try #require(try life.downloader.background?.session.get())
        let isReported = SharedValue(false)
        session.submit { worker in worker.whenDelivered(0) { isReported.withLock { $0 = true } } }
        try await life.settle()
        #expect(!isReported.withLock { $0 })
    }

    @Test func `background 9: the files are in place at the moment of the report`() async throws {
        let app = try BackgroundApp()
        try await app.run(3)
        let life = app.launch()
        try await life.settle()
        try app.finishAll()
        try app.service.reportAllDelivered()
        let session = try #require(try life.downloader.background?.session.get())
        let placed = SharedValue<Int?>(nil)
        session.submit { worker in
            worker.whenDelivered(0) { placed.withLock { $0 = app.placedNames.count } }
        }
        try await life.deliver()
        #expect(placed.withLock { $0 } == 3)
    }
}
