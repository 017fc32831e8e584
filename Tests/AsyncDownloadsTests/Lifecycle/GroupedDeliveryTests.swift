internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Deliveries of short files that wait, without a thread, until the thread of their volume has placed them.
@Suite(.endsWhenHung)
struct GroupedDeliveryTests {
    private let object = InterruptionPoint.object

    /// Starts a download whose file is being renamed, and one whose placement waits behind it.
    private func startBoth(_ fixture: LifecycleFixture) async throws -> (first: Download, second: Download) {
        let first = fixture.downloader.start(try fixture.request())
        try await InterruptionPoint.renaming.reach(on: fixture)
        let second = fixture.downloader.start(try fixture.request("/second", to: "second.bin"))
        while !fixture.transport.open.contains(where: { $0.path == "/second" }) { await Task.yield() }
        let exchange = try #require(fixture.transport.open.first { $0.path == "/second" })
        exchange.answer(object)
        exchange.deliver(object.content.length)
        exchange.end(.complete)
        let transfer = try #require(fixture.downloader.liveTransfers.first { $0.request.url.path == "/second" })
        // The queue is suspended as soon as the placement waits.
        while second.state != .verifying { await Task.yield() }
        #expect(transfer.activeTransfer != nil)
        return (first, second)
    }

    @Test func `a short file that waits for its group lets another transfer run`() async throws {
        let object = SteppedObject(content: Content(seed: 3, length: 4096), tag: "\"1\"")
        try await LifecycleFixture.with(
            placesInGroups: true, configure: { $0.maximumConcurrentTransfers = 1 }
        ) { fixture async throws in
            fixture.disk.renaming.shut()
            let downloads = try (0..<2).map { fixture.downloader.start(try fixture.request("/\($0)", to: "\($0).bin")) }
            for index in downloads.indices {
                let exchange = await fixture.transport.exchange(index)
                #expect(downloads.prefix(index).allSatisfy { $0.state == .verifying })
                exchange.answer(object)
                exchange.deliver(object.content.length)
                exchange.end(.complete)
            }
            fixture.disk.renaming.open()
            for download in downloads { #expect(try await download.file.byteCount == object.content.length) }
        }
    }

    @Test func `rule 51: a subscriber that attaches while the file waits gets a copy`() async throws {
        try await LifecycleFixture.with(placesInGroups: true) { fixture async throws in
            let (first, second) = try await startBoth(fixture)
            let late = try [fixture.request("/second", to: "late.bin"), fixture.request("/one", to: "later.bin")]
                .map { fixture.downloader.start($0) }
            #expect(late.allSatisfy { $0.isCoalesced && $0.state == .verifying })
            fixture.disk.renaming.open()
            for download in [first, second] + late {
                #expect(try await download.file.byteCount == object.content.length)
            }
            #expect(fixture.transport.exchanges.count == 2)
            #expect(fixture.directory.names() == ["file.bin", "late.bin", "later.bin", "second.bin"])
            for name in fixture.directory.names() { #expect(fixture.holds(object.content, at: name)) }
        }
    }

    @Test(arguments: [true, false])
    func `rule 55: a file that is discarded while it waits is not placed, one that is canceled is`(
        isDiscarded: Bool
    ) async throws {
        try await LifecycleFixture.with(placesInGroups: true) { fixture async throws in
            let (first, second) = try await startBoth(fixture)
            if isDiscarded { second.discard() } else { second.cancel() }
            fixture.disk.renaming.open()
            _ = try await first.file
            await #expect(throws: DownloadError.self) { try await second.file }
            while !fixture.downloader.liveTransfers.isEmpty { await Task.yield() }
            #expect(fixture.directory.names() == (isDiscarded ? ["file.bin"] : ["file.bin", "second.bin"]))
        }
    }

    @Test func `a file that cannot be placed is kept, and continues without another byte`() async throws {
        try await LifecycleFixture.with(placesInGroups: true) { fixture async throws in
            let (first, second) = try await startBoth(fixture)
            let destination = "\(fixture.directory.path)/second.bin"
            try FileManager.default.createDirectory(atPath: destination, withIntermediateDirectories: false)
            fixture.disk.renaming.open()
            _ = try await first.file
            let error = await #expect(throws: DownloadError.self) { try await second.file }
            #expect(error?.retainedByteCount == object.content.length)
            #expect(try fixture.keptCounts() == [object.content.length])
            try FileManager.default.removeItem(atPath: destination)
            let again = fixture.downloader.start(try fixture.request("/second", to: "second.bin"))
            await fixture.finish(again, object)
            #expect(fixture.holds(object.content, at: "second.bin"))
            #expect(try await again.file.fetchedByteCount == 0)
        }
    }

    @Test func `a shutdown waits for files that are being placed`() async throws {
        try await LifecycleFixture.with(placesInGroups: true) { fixture async throws in
            let (first, second) = try await startBoth(fixture)
            let shutdown = Task { await fixture.downloader.shutdown() }
            while first.state == .verifying { await Task.yield() }
            fixture.disk.renaming.open()
            await shutdown.value
            for download in [first, second] { await #expect(throws: DownloadError.self) { try await download.file } }
            #expect(fixture.directory.names() == ["file.bin", "second.bin"])
            #expect(fixture.holds(object.content, at: "second.bin"))
        }
    }
}
