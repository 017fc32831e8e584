import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Subscribers that attach while the complete file is verified and placed (rule 51).
@Suite(.endsWhenHung)
struct LateSubscriberTests {
    private static let points = [InterruptionPoint.verifying, .renaming]

    private func first(
        _ fixture: LifecycleFixture, _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> Download {
        var request = try fixture.request()
        request.checksum = InterruptionPoint.object.content.sha256
        change(&request)
        return fixture.downloader.start(request)
    }

    private func open(_ fixture: LifecycleFixture) {
        fixture.disk.reading.open()
        fixture.disk.renaming.open()
    }

    @Test(arguments: points)
    func `each late subscriber gets its own file without another request`(_ point: InterruptionPoint) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = try first(fixture)
            try await point.reach(on: fixture)
            let late = try (0..<3).map { fixture.downloader.start(try fixture.request(to: "\($0).bin")) }
            let same = fixture.downloader.start(try fixture.request())
            #expect(late.allSatisfy { $0.isCoalesced && $0.state == .verifying })
            open(fixture)
            for one in late + [same, download] { _ = try await one.file }
            await fixture.waitUntilIdle()
            #expect(fixture.transport.exchanges.count == 1)
            #expect(fixture.directory.names() == ["0.bin", "1.bin", "2.bin", "file.bin"])
            for name in fixture.directory.names() { #expect(fixture.holds(InterruptionPoint.object.content, at: name)) }
        }
    }

    @Test(arguments: points)
    func `a late subscriber can get the bytes in memory`(_ point: InterruptionPoint) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = try first(fixture)
            try await point.reach(on: fixture)
            var request = try fixture.request()
            request.destination = .memory
            request.checksum = InterruptionPoint.object.content.sha512
            let late = fixture.downloader.start(request)
            open(fixture)
            let data = try #require(try await late.file.data)
            #expect(Int64(data.count) == InterruptionPoint.object.content.length)
            #expect(data.withUnsafeBytes { InterruptionPoint.object.content.matches($0, at: 0) })
            _ = try await download.file
            #expect(fixture.transport.exchanges.count == 1)
        }
    }

    @Test(arguments: points)
    func `a late subscriber with another checksum fails, and the others get their files`(
        _ point: InterruptionPoint
    ) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = try first(fixture)
            try await point.reach(on: fixture)
            var request = try fixture.request(to: "late.bin")
            request.checksum = .sha512(String(repeating: "0", count: 128))
            let late = fixture.downloader.start(request)
            open(fixture)
            let error = await #expect(throws: DownloadError.self) { try await late.file }
            #expect(error?.code == .checksumMismatch)
            _ = try await download.file
            await fixture.waitUntilIdle()
            #expect(fixture.directory.names() == ["file.bin"])
        }
    }

    @Test(arguments: points)
    func `a late subscriber that supersedes the first one gets the file`(_ point: InterruptionPoint) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = try first(fixture)
            try await point.reach(on: fixture)
            var request = try fixture.request(to: "late.bin")
            request.duplicatePolicy = .cancelExisting
            let late = fixture.downloader.start(request)
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .superseded)
            open(fixture)
            _ = try await late.file
            #expect(fixture.holds(InterruptionPoint.object.content, at: "late.bin"))
            #expect(fixture.transport.exchanges.count == 1)
        }
    }

    @Test func `a body in memory is placed as a file for a late subscriber`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            // The digest of a body in memory reads no file, so the file of the second subscriber is the first to be
            // blocked.
            let download = try first(fixture) { $0.destination = .memory }
            let late = fixture.downloader.start(try fixture.request(to: "late.bin"))
            await fixture.waitUntilIdle()
            await fixture.finish(late, InterruptionPoint.object)
            #expect(try await download.file.data?.count == Int(InterruptionPoint.object.content.length))
            #expect(fixture.holds(InterruptionPoint.object.content, at: "late.bin"))
            #expect(fixture.transport.exchanges.count == 1)
        }
    }
}
