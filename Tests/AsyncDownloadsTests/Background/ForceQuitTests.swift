internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Downloads that were stopped because the user has quit the app.
@Suite(.endsWhenHung)
struct ForceQuitTests {
    private static let resumeData = Data("resume".utf8)

    /// Starts a download, and ends it as a force-quit does.
    private func quit(_ app: BackgroundApp) async throws {
        try await app.run(1)
        try app.service.fail(app.tasks[0], reason: "0", resumeData: Self.resumeData)
    }

    @Test func `background 11: a file that is asked for before the event of the force-quit arrives continues`()
        async throws
    {
        let app = try BackgroundApp()
        try await quit(app)
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.deliver()
        #expect(app.tasks.first?.resumeData == Self.resumeData, "the caller wants the file now")
        #expect(download.state == .waiting)
        try app.finishAll()
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
    }

    @Test func `background 11: a paused handle that is resumed before the event arrives continues`() async throws {
        let app = try BackgroundApp()
        try await quit(app)
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        download.pause()
        download.resume()
        try await life.deliver()
        #expect(app.tasks.count == 1)
    }

    @Test func `background 11: a restored handle is paused by the event, and can be resumed`() async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        let life = app.launch()
        let download = try #require(try await life.restored()["1"]?.download)
        #expect(download.state == .downloading)
        let task = app.tasks[0]
        try app.service.fail(task, reason: "0", resumeData: Self.resumeData)
        try await life.deliver()
        #expect(download.state == .paused && app.tasks.isEmpty)
        download.resume()
        try await life.settle()
        #expect(app.tasks.first?.resumeData == Self.resumeData)
        #expect(download.state == .waiting)
    }

    @Test(arguments: [true, false])
    func `background 11: the reason survives the end of the process that received it`(
        hasResumeData: Bool
    ) async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        let name = try #require(DaemonTaskName(app.tasks[0].description))
        #expect(app.service.directory.remove(app.tasks[0]))
        // The callback has returned, and the process was killed before anything else.
        let spool = Spool(disk: POSIXFileSystem(), directory: "\(app.home)/journals/app")
        if hasResumeData { _ = try spool.saveResumeData(Array(Self.resumeData), of: name) }
        spool.saveFailure(.userForceQuit, of: name)
        let life = app.launch()
        let restored = try #require(try await life.restored()["1"])
        #expect(restored.condition == .paused && app.tasks.isEmpty)
        #expect(app.spooledNames == (hasResumeData ? ["1-1.resume"] : []))
        restored.download.resume()
        try await life.settle()
        #expect(app.tasks.first?.resumeData == (hasResumeData ? Self.resumeData : nil))
    }

    @Test func `each reason of a failure is read as it was recorded`() {
        let reasons: [DaemonFailure.Reason] = [
            .cancelled, .userForceQuit, .backgroundUpdatesDisabled, .insufficientResources, .fileMissing, .interrupted,
            .notStored(DownloadError(.diskFull, "x")), .transfer(DownloadError(.timedOut, "y", isRetryable: true)),
        ]
        for reason in reasons { #expect("\(RecordedFailure(reason).reason)" == "\(reason)") }
    }
}
