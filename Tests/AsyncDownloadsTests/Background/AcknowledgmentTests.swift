internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Outcomes that are remembered until the app has received them.
@Suite(.endsWhenHung)
struct AcknowledgmentTests {
    /// An action of the app with a download whose outcome has arrived.
    enum Use: CaseIterable {
        case holdsHandle, observes, readsEvents, releasesHandle
        case awaitsFile, acknowledges

        /// Whether the app has received the outcome.
        var isReceipt: Bool { self == .awaitsFile || self == .acknowledges }
    }

    private func use(_ download: Download, _ use: Use) async {
        switch use {
        case .holdsHandle: withExtendedLifetime(download) {}
        case .releasesHandle: break
        case .observes: for await _ in download.updates {}
        case .awaitsFile: _ = await download.failure
        case .readsEvents: do { for try await _ in download.events {} } catch {}
        case .acknowledges: download.acknowledge()
        }
    }

    @Test func `a superseded download whose handle was released needs no outcome`() async throws {
        let app = try BackgroundApp()
        let first = app.launch()
        first.downloader.start(app.request(1))
        var request = app.request(1)
        request.duplicatePolicy = .cancelExisting
        let download = first.downloader.start(request)
        try await first.settle()
        try app.service.finish(app.tasks[0], status: 200)
        try await first.deliver()
        #expect(await download.failure == nil)
        try await first.settle()
        first.kill()
        #expect(try await app.launch().restored().isEmpty)
    }

    @Test(arguments: Use.allCases, [200, 404])
    func `background 21: an outcome is remembered until the app has received it`(use: Use, status: Int) async throws {
        let app = try BackgroundApp()
        let first = app.launch()
        var download: Download? = first.downloader.start(app.request(1))
        try await first.settle()
        if use == .releasesHandle { download = nil }
        try app.service.finish(app.tasks[0], status: status)
        try await first.deliver()
        if let download { await self.use(download, use) }
        try await first.settle()
        first.kill()
        let life = app.launch()
        let restored = try await life.restored()
        let expected: Downloader.RestoredDownload.Condition = status == 200 ? .finished : .failed
        #expect(restored["1"]?.condition == (use.isReceipt ? nil : expected))
        guard !use.isReceipt else { return }
        // The handle of a later process is treated in the same way.
        if let restored = restored["1"] { await self.use(restored.download, .observes) }
        try await life.settle()
        life.kill()
        let last = app.launch()
        let again = try #require(try await last.restored()["1"])
        #expect(await again.download.failure?.statusCode == (status == 200 ? nil : 404))
        try await last.settle()
        last.kill()
        #expect(try await app.launch().restored().isEmpty)
        #expect(app.service.directory.requestCount == 1, "nothing is fetched twice")
    }

    @Test func `background 21: an outcome that arrives while the app only observes is restored in the same process`()
        async throws
    {
        let app = try BackgroundApp()
        let life = app.launch()
        life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        let restored = try await life.restored()
        #expect(restored["1"]?.condition == .finished)
        #expect(try await restored["1"]?.download.file.byteCount == 33)
        try await life.settle()
        #expect(try await life.restored().isEmpty)
    }

    /// An event that concerns a file after the app has received it.
    enum Change: CaseIterable {
        case nothing, removed, replaced, modified, longer
    }

    @Test(arguments: Change.allCases, [true, false])
    func `background 21: the same request finds a file that was received, as long as it is the same one`(
        change: Change, choosesName: Bool
    ) async throws {
        let app = try BackgroundApp()
        let folder = URL(fileURLWithPath: "\(app.home)/files", isDirectory: true)
        let request = choosesName ? DownloadRequest(from: app.request(1).url, into: folder) : app.request(1)
        let first = app.launch()
        let download = first.downloader.start(request)
        try await first.settle()
        try app.finishAll()
        try await first.deliver()
        let path = try await download.file.url.path
        try await first.settle()
        first.kill()
        let old = try #require(FileManager.default.contents(atPath: path))
        switch change {
        case .nothing: break
        case .removed: try FileManager.default.removeItem(atPath: path)
        case .replaced: try old.write(to: URL(fileURLWithPath: path), options: .atomic)
        case .modified:
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
        case .longer: try (old + Data([1])).write(to: URL(fileURLWithPath: path))
        }
        let life = app.launch()
        let again = life.downloader.start(request)
        try await life.settle()
        #expect(app.service.directory.requestCount == (change == .nothing ? 1 : 2))
        guard change == .nothing else { return }
        // Killed before the app has received it, the request is one of the next process.
        life.kill()
        let last = app.launch()
        let restored = try await last.restored()
        #expect(restored["1"]?.condition == .finished)
        #expect(try await restored["1"]?.download.file.url.path == path)
        _ = again
    }

    @Test func `background 21: another destination, and another checksum, are another file`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        _ = try await download.file
        life.downloader.start(app.request(1, to: "other"))
        try await life.settle()
        #expect(app.service.directory.requestCount == 2)
    }

    @Test func `background 21: a late acknowledgment of a failure does not concern the next attempt`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.service.finish(app.tasks[0], status: 404)
        try await life.deliver()
        life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        try await life.deliver()
        #expect(await download.failure?.statusCode == 404)
        try await life.settle()
        #expect(try await life.restored()["1"]?.condition == .finished)
    }

    @Test func `background 21: delivered files are remembered for a month, and up to a number`() {
        let path = ContainerPath(base: .home, relative: "a")
        let count = BackgroundJournal.maximumDeliveredCount
        var core = BackgroundCore(.sample((0...count).map { _ in .running }))
        for id in 1...count + 1 {
            core.journal.update(id) { record in
                record.stage = .idle(resumeData: nil)
                record.deliveries[0].outcome = .placed(path, BackgroundBodyInfo(byteCount: 1, finalURL: "x"))
            }
            core.date = HTTPDate(secondsSinceEpoch: Int64(id))
            #expect(core.acknowledge(1, of: id).isEmpty)
        }
        #expect(core.journal.records.map(\.id) == Array(2...count + 1), "the oldest is forgotten")
        #expect(core.journal.isEmpty, "nothing is pending")
        core.journal.prune(before: 3 + BackgroundJournal.deliveredLifetime)
        #expect(core.journal.records.first?.id == 3)
        core.journal.prune(before: .max / 2)
        #expect(core.journal.records.isEmpty)
    }

    @Test func `background 21: discarding the bytes of another destination keeps the delivered file`() {
        var core = BackgroundCore(.sample([.running]))
        let path = ContainerPath(base: .home, relative: "a")
        core.journal.update(1) { record in
            record.deliveries[0].outcome = .placed(path, BackgroundBodyInfo(byteCount: 1, finalURL: "x"))
            record.deliveries[0].acknowledgedAt = 5
            record.deliveries.append(.init(id: 2, destination: ContainerPath(base: .home, relative: "b")))
        }
        let name = core.journal.name(1)
        #expect(core.cancel(2, of: 1, keepingBytes: false).cancels == [name])
        #expect(core.journal[1]?.deliveries.map(\.id) == [1] && core.journal[1]?.hasUsefulBytes == false)
        #expect(core.handle(.failed(name, .cancelled, resumeData: "1-1.resume")).removedFiles == ["1-1.resume"])
    }

    @Test func `background 21: awaiting a finished file in a canceled task throws, and receives nothing`() async throws
    {
        let app = try BackgroundApp()
        let first = app.launch()
        let download = first.downloader.start(app.request(1))
        try await first.settle()
        try app.finishAll()
        try await first.deliver()
        let isCanceled = SharedValue(false)
        let call = Task {
            while !isCanceled.withLock({ $0 }) { await Task.yield() }
            return await download.failure
        }
        call.cancel()
        isCanceled.withLock { $0 = true }
        #expect(await call.value?.code == .cancelled)
        try await first.settle()
        first.kill()
        #expect(try await app.launch().restored()["1"]?.condition == .finished)
    }

    @Test func `background 21: a batch acknowledges an outcome when it delivers it`() async throws {
        let app = try BackgroundApp()
        let first = app.launch()
        let requests = (1...2).map { app.request($0) }
        let delivered = SharedValue<String?>(nil)
        let isKilled = SharedValue(false)
        let call = Task {
            for try await outcome in first.downloader.batch(requests, limit: 2) {
                delivered.withLock { $0 = outcome.request.url.lastPathComponent }
                while !isKilled.withLock({ $0 }) { await Task.yield() }
                break
            }
        }
        while app.tasks.count < 2 { await Task.yield() }
        try app.finishAll()
        try await first.deliver()
        while delivered.withLock({ $0 }) == nil { await Task.yield() }
        try await first.settle()
        first.kill()
        isKilled.withLock { $0 = true }
        try await call.value
        let restored = try await app.launch().restored()
        #expect(restored.count == 1 && delivered.withLock { $0.map { restored[$0] == nil } } == true)
    }
}
