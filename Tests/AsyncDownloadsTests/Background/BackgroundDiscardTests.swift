internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Discarding downloads of a background session that have ended.
@Suite(.endsWhenHung)
struct BackgroundDiscardTests {
    /// Returns a download that was canceled after the service had received bytes.
    private func canceled(_ app: BackgroundApp, _ life: BackgroundApp.Life) async throws -> Download {
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.service.progress(app.tasks[0], received: 3)
        try await life.deliver()
        download.cancel()
        try await life.settle()
        try await life.deliver()
        #expect(app.tasks.isEmpty && app.spooledNames == ["1-1.resume"])
        return download
    }

    @MainActor
    private func removeFromList(_ download: Download, _ downloader: Downloader) {
        let list = DownloadList(downloader: downloader)
        list.remove(list.add(download))
    }

    @Test(arguments: [200, 404])
    func `background 21: the outcome of an item that was removed from a list isn't restored`(status: Int) async throws {
        let app = try BackgroundApp()
        let first = app.launch()
        let download = first.downloader.start(app.request(1))
        try await first.settle()
        try app.service.finish(app.tasks[0], status: status)
        try await first.deliver()
        while !download.state.isFinal { await Task.yield() }
        #expect(download.state == (status == 200 ? .completed : .failed))
        await removeFromList(download, first.downloader)
        try await first.settle()
        first.kill()
        #expect(try await app.launch().restored().isEmpty)
        #expect(app.isInPlace(1) == (status == 200))
    }

    @Test func `background 21: a failure is remembered until each of its downloads is discarded`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let downloads = (1...2).map { _ in life.downloader.start(app.request(1)) }
        try await life.settle()
        try app.service.finish(app.tasks[0], status: 404)
        try await life.deliver()
        for download in downloads {
            #expect(app.journal?.isEmpty == false)
            download.discard()
            try await life.settle()
        }
        #expect(app.journal?.isEmpty == true)
    }

    @Test func `the bytes of a canceled download are removed`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = try await canceled(app, life)
        download.discard()
        try await life.settle()
        #expect(app.spooledNames == [] && app.journal?.records.isEmpty == true)
    }

    @Test func `a newer download keeps the bytes of a canceled one`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = try await canceled(app, life)
        let newer = life.downloader.start(app.request(1))
        try await life.settle()
        download.discard()
        try await life.settle()
        #expect(app.tasks.first?.resumeData != nil)
        try app.finishAll()
        try await life.deliver()
        #expect(await newer.failure == nil)
    }

    @Test func `a download that continues after its cancellation is stopped`() async throws {
        let app = try BackgroundApp()
        let life = app.launch { $0.abandonmentPolicy = .finish }
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        download.cancel()
        try await life.settle()
        #expect(app.tasks.count == 1)
        download.discard()
        try await life.settle()
        try await life.deliver()
        #expect(app.tasks.isEmpty && app.journal?.records.isEmpty == true)
    }
}
