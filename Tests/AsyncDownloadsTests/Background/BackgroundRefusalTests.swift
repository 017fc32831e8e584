internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Requests and downloaders that a background session refuses.
@Suite(.endsWhenHung)
struct BackgroundRefusalTests {
    @Test func `requests that a background session cannot carry out are refused`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        var requests = [DownloadRequest](repeating: app.request(1), count: 7)
        requests[0].destination = .memory
        requests[1].idleTimeout = .seconds(5)
        requests[2].deadline = .seconds(5)
        requests[3].headers["X-Key"] = "1"
        requests[4].acceptedMediaTypes = ["application/zip"]
        requests[5].validateResponse = { _ in }
        requests[6].expectedByteCount = 5
        for request in requests {
            #expect(await life.downloader.start(request).failure?.code == .unsupported)
        }
        requests[3].nonsecretHeaders = ["X-Key"]
        let allowed = life.downloader.start(requests[3])
        try await life.settle()
        #expect(allowed.state == .waiting && app.tasks.count == 1)
    }

    @Test(arguments: ["Authorization", "Cookie", "Proxy-Authorization"])
    func `background 19: a credential is refused in any case`(name: String) async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        var request = app.request(1)
        request.headers[name] = "secret"
        #expect(await life.downloader.start(request).failure?.code == .unsupported)
        request.nonsecretHeaders = [name]
        #expect(await life.downloader.start(request).failure?.code == .invalidRequest)
    }

    @Test func `a platform without background sessions says so`() async throws {
        let environment = BackgroundEnvironment(
            disk: KillableFileSystem(), containers: FixedContainers(),
            directory: ContainerPath(base: .home, relative: "journals"), time: ManualTimeSource(),
            lifecycle: ManualLifecycle(), makeDaemon: nil)
        let sessions = BackgroundSessions(environment)
        let downloader = Downloader(configuration: .background(identifier: "app"), backgroundSessions: sessions)
        let app = try BackgroundApp()
        #expect(await downloader.start(app.request(1)).failure?.code == .unsupported)
        await #expect(throws: DownloadError.self) { try await downloader.restored() }
        #expect(await sessions.handleEvents(for: "app") == false)
    }

    @Test(arguments: [(0, 1.0), (-1, 1), (1, 0.999), (1, -1), (1, 1)])
    func `options with which no download would end are refused`(count: Int, timeout: Double) async throws {
        let app = try BackgroundApp()
        var options = BackgroundOptions()
        (options.maximumTaskCount, options.resourceTimeout) = (count, .seconds(timeout))
        let life = app.launch(options: options)
        let download = life.downloader.start(app.request(1))
        if count >= 1, timeout >= 1 {
            try await life.settle()
            #expect(app.tasks.count == 1)
        } else {
            #expect(await download.failure?.code == .invalidRequest)
            #expect(app.journal == nil && life.daemons.all.isEmpty)
        }
        let recorded = try JSONDecoder().decode(BackgroundOptions.self, from: JSONEncoder().encode(options))
        #expect(recorded.validationError == nil, "an earlier version may have recorded them")
    }

    @Test(arguments: [nil, "group.one"])
    func `a directory with the journal of another session is refused, and left as it is`(group: String?) async throws {
        let app = try BackgroundApp()
        var options = BackgroundOptions()
        options.sharedContainerIdentifier = group
        // The checksums of both identifiers are the same, and so is the name of the directory.
        let directory = "\(group == nil ? app.home : app.groupHome)/journals/app"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let file = JournalFile(disk: POSIXFileSystem(), path: "\(directory)/journal")
        let journal = BackgroundJournal(identifier: "another", token: "0123456789abcdef", options: options)
        try file.write(journal)
        let life = app.launch(options: options)
        let request = group == nil ? app.request(1) : app.sharedRequest(1)
        #expect(await life.downloader.start(request).failure?.code == .journalUnreadable)
        #expect(try await life.downloader.removeDamagedJournal() == false)
        #expect(try file.journal() == journal && app.tasks.isEmpty)
    }

    #if !canImport(Darwin)
    @Test func `on Linux, a background configuration fails at start`() async throws {
        let app = try BackgroundApp()
        let downloader = Downloader(configuration: .background(identifier: "async-downloads-test"))
        #expect(await downloader.start(app.request(1)).failure?.code == .unsupported)
    }
    #endif

    @Test func `two downloaders cannot use one session`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        life.downloader.start(app.request(1))
        try await life.settle()
        let configuration = Downloader.Configuration.background(identifier: "app")
        let second = Downloader(configuration: configuration, backgroundSessions: life.sessions)
        #expect(await second.start(app.request(2)).failure?.code == .sessionInUse)
        let otherProcess = app.launch()
        #expect(await otherProcess.downloader.start(app.request(2)).failure?.code == .sessionInUse)
        await #expect(throws: DownloadError.self) { try await otherProcess.downloader.restored() }
        await life.downloader.shutdown()
        let third = Downloader(configuration: configuration, backgroundSessions: life.sessions)
        #expect(try await third.restored().count == 1)
        #expect(life.daemons.all.count == 1, "the session is the same")
    }
}
