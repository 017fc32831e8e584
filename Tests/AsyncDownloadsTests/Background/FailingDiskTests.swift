internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// A disk that is full when files arrive.
@Suite(.endsWhenHung)
struct FailingDiskTests {
    enum Recovery: CaseIterable {
        case timer, foreground, otherRequest
    }

    @Test(arguments: Recovery.allCases)
    func `background 3: a file that waits for the journal is placed when the journal can be written`(
        recovery: Recovery
    ) async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        life.disk.failWrites(.noSpace)
        try await life.deliver()
        #expect(app.placedNames == [] && app.spooledNames == ["1-1.body"])
        #expect(app.service.directory.eventNames == [], "the service has forgotten the file")
        if recovery == .timer {
            // The first retry fails, too.
            app.time.advance(by: .seconds(10))
            try await life.settle()
        }
        life.disk.failWrites(nil)
        switch recovery {
        case .timer: app.time.advance(by: .seconds(10))
        case .foreground: app.lifecycle.enterForeground()
        case .otherRequest: life.downloader.start(app.request(2))
        }
        try await life.settle()
        #expect(try await download.file.byteCount == 33)
        #expect(app.isInPlace(1) && app.spooledNames == [])
        #expect(app.service.directory.requestCount == (recovery == .otherRequest ? 2 : 1))
    }

    @Test func `a download that can't be recorded isn't taken for one that has a task`() async throws {
        let app = try BackgroundApp()
        var options = BackgroundOptions()
        options.maximumTaskCount = 1
        let life = app.launch(options: options)
        let downloads = (1...3).map { life.downloader.start(app.request($0)) }
        try await life.settle()
        life.disk.failWrites(.noSpace)
        try app.finishAll()
        try await life.deliver()
        #expect(await downloads[1].failure?.code == .diskFull)
        #expect(app.tasks.isEmpty)
        life.disk.failWrites(nil)
        app.time.advance(by: .seconds(10))
        app.lifecycle.enterForeground()
        try await life.settle()
        #expect(app.tasks.map(\.url) == ["https://example.org/3"])
    }

    @Test(arguments: [Recovery.timer, .foreground])
    func `background 15: before the first unlock, placing is deferred`(recovery: Recovery) async throws {
        let app = try BackgroundApp()
        try await app.run(1)
        try app.finishAll()
        app.lifecycle.enterBackground()
        let life = app.launch()
        try await life.settle()
        life.disk.failRenames(toNamesWith: "/files/", .denied)
        try await life.deliver()
        app.time.advance(by: .seconds(10))
        try await life.settle()
        #expect(app.placedNames == [] && app.spooledNames == ["1-1.body", "1-1.head"])
        life.disk.permitRenames()
        if recovery == .timer { app.time.advance(by: .seconds(10)) } else { app.lifecycle.enterForeground() }
        try await life.settle()
        #expect(try await life.restored()["1"]?.condition == .finished)
        #expect(app.isInPlace(1) && app.spooledNames == [] && app.service.directory.requestCount == 1)
    }

    @Test func `background 15: a destination that is denied in the foreground is an error`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        life.disk.failRenames(toNamesWith: "/files/", .denied)
        try await life.deliver()
        #expect(await download.failure?.code == .permissionDenied)
    }

    @Test func `background 6: a file whose head cannot be written is used by the process that has the head`()
        async throws
    {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        life.disk.failCreation(ofNamesWith: ".head")
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
        #expect(app.isInPlace(1) && app.service.directory.requestCount == 1)
    }

    @Test func `background 6: a file that cannot be moved because the disk is full fails with diskFull`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        life.disk.failRenames(toNamesWith: ".body", .noSpace)
        try await life.deliver()
        #expect(await download.failure?.code == .diskFull)
        #expect(app.service.directory.requestCount == 1, "the disk is full, so another attempt is useless")
    }

    @Test func `background 6: a file on another volume is copied into the spool`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        try app.finishAll()
        life.disk.failRenames(toNamesWith: ".body", .crossDevice, except: ".new")
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
        #expect(app.isInPlace(1) && app.spooledNames == [])
    }
}
