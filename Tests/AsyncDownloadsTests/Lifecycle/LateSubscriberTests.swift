import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// SubscriberSet that come while the complete file is verified and placed (rule 51).
@Suite(.endsWhenHung)
struct LateSubscriberTests {
    private static let moments = [Moment.verifying, .renaming]

    private func first(_ stage: LifecycleStage, _ change: (inout DownloadRequest) -> Void = { _ in }) throws -> Download
    {
        var request = try stage.request()
        request.checksum = Moment.object.content.sha256
        change(&request)
        return stage.downloader.start(request)
    }

    private func open(_ stage: LifecycleStage) {
        stage.disk.reading.open()
        stage.disk.renaming.open()
    }

    @Test(arguments: moments)
    func `each gets a file of its own from the one download`(_ moment: Moment) async throws {
        try await LifecycleStage.with { stage async throws in
            let download = try first(stage)
            try await moment.reach(on: stage)
            let late = try (0..<3).map { stage.downloader.start(try stage.request(to: "\($0).bin")) }
            let same = stage.downloader.start(try stage.request())
            #expect(late.allSatisfy { $0.isCoalesced && $0.state == .verifying })
            open(stage)
            for one in late + [same, download] { _ = try await one.file }
            await stage.performEffects()
            #expect(stage.transport.exchanges.count == 1)
            #expect(stage.directory.names() == ["0.bin", "1.bin", "2.bin", "file.bin"])
            for name in stage.directory.names() { #expect(stage.holds(Moment.object.content, at: name)) }
        }
    }

    @Test(arguments: moments)
    func `one that wants the bytes in memory gets them`(_ moment: Moment) async throws {
        try await LifecycleStage.with { stage async throws in
            let download = try first(stage)
            try await moment.reach(on: stage)
            var request = try stage.request()
            request.destination = .memory
            request.checksum = Moment.object.content.sha512
            let late = stage.downloader.start(request)
            open(stage)
            let data = try #require(try await late.file.data)
            #expect(Int64(data.count) == Moment.object.content.length)
            #expect(data.withUnsafeBytes { Moment.object.content.matches($0, at: 0) })
            _ = try await download.file
            #expect(stage.transport.exchanges.count == 1)
        }
    }

    @Test(arguments: moments)
    func `one that expects another digest is told so, and the others have their files`(_ moment: Moment) async throws {
        try await LifecycleStage.with { stage async throws in
            let download = try first(stage)
            try await moment.reach(on: stage)
            var request = try stage.request(to: "late.bin")
            request.checksum = .sha512(String(repeating: "0", count: 128))
            let late = stage.downloader.start(request)
            open(stage)
            let error = await #expect(throws: DownloadError.self) { try await late.file }
            #expect(error?.code == .checksumMismatch)
            _ = try await download.file
            await stage.performEffects()
            #expect(stage.directory.names() == ["file.bin"])
        }
    }

    @Test(arguments: moments)
    func `one that supersedes the first gets the file`(_ moment: Moment) async throws {
        try await LifecycleStage.with { stage async throws in
            let download = try first(stage)
            try await moment.reach(on: stage)
            var request = try stage.request(to: "late.bin")
            request.duplicatePolicy = .cancelExisting
            let late = stage.downloader.start(request)
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .superseded)
            open(stage)
            _ = try await late.file
            #expect(stage.holds(Moment.object.content, at: "late.bin"))
            #expect(stage.transport.exchanges.count == 1)
        }
    }

    @Test func `a body in memory is placed for one who comes while it is read`() async throws {
        try await LifecycleStage.with { stage async throws in
            // The digest of a body in memory reads no file, so the first to be held is the file of the second.
            let download = try first(stage) { $0.destination = .memory }
            let late = stage.downloader.start(try stage.request(to: "late.bin"))
            await stage.performEffects()
            await stage.finish(late, Moment.object)
            #expect(try await download.file.data?.count == Int(Moment.object.content.length))
            #expect(stage.holds(Moment.object.content, at: "late.bin"))
            #expect(stage.transport.exchanges.count == 1)
        }
    }
}
