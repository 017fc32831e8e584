import Foundation
import ScriptedDaemon
import TestSupport
import Testing

@testable import AsyncDownloads

/// The downloads of one URL in a background session.
@Suite(.endsWhenHung)
struct BackgroundDownloadsByURLTests {
    /// A URL of a request of the app, in another form.
    private func url(_ number: Int) throws -> URL {
        try #require(URL(string: "HTTPS://example.org:443/\(number)#part"))
    }

    @Test func `the downloads of a background session are paused, resumed, and canceled by their URL`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let (download, other) = (life.downloader.start(app.request(1)), life.downloader.start(app.request(2)))
        let joined = life.downloader.start(app.request(1, to: "copy"))
        let found = life.downloader.downloads(for: try url(1))
        #expect(found.map(\.request) == [download.request, joined.request])
        #expect(found.map(\.isCoalesced) == [false, true])
        try await life.settle()
        life.downloader.pauseDownloads(for: try url(1))
        // The service returns the resume data of the canceled task.
        try await life.settle()
        try await life.deliver()
        #expect([download.state, joined.state] == [.paused, .paused])
        #expect(app.tasks.map(\.url) == ["https://example.org/2"])
        life.downloader.resumeDownloads(for: try url(1))
        try await life.settle()
        #expect(app.tasks.count == 2)
        life.downloader.cancelDownloads(for: try url(1))
        try await life.settle()
        #expect([download.state, joined.state, other.state] == [.cancelled, .cancelled, .waiting])
        #expect(life.downloader.downloads(for: try url(1)).isEmpty)
        #expect(app.tasks.map(\.url) == ["https://example.org/2"])
    }

    @Test func `the downloads of an earlier launch are found when they are restored`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        let life = app.launch()
        #expect(life.downloader.downloads(for: try url(1)).isEmpty)
        let restored = try #require(try await life.restored()["1"])
        let found = life.downloader.downloads(for: try url(1))
        #expect(found.map(\.request) == [restored.download.request])
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        _ = try await restored.download.file
        #expect(life.downloader.downloads(for: try url(1)).isEmpty)
    }

    @Test func `a downloader that was shut down finds no download of the session's next downloader`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        life.downloader.start(app.request(1))
        try await life.settle()
        await life.downloader.shutdown()
        #expect(life.downloader.downloads(for: try url(1)).isEmpty)
        let next = Downloader(configuration: life.downloader.configuration, backgroundSessions: life.sessions)
        let download = next.start(app.request(1))
        life.downloader.cancelDownloads(for: try url(1))
        #expect(life.downloader.downloads(for: try url(1)).isEmpty)
        #expect(next.downloads(for: try url(1)).map(\.request) == [download.request])
        #expect(download.state != .cancelled)
        await next.shutdown()
    }
}
