internal import Dispatch
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Shutdowns while an operation uses files outside of a transfer.
@Suite(.endsWhenHung)
struct ShutdownTests {
    /// An operation of a downloader that uses files outside of a transfer.
    enum Operation: String, CaseIterable, CustomTestStringConvertible {
        case purging, respondingToPressure, restoring, removingLeftovers, creatingToken, adopting

        var testDescription: String { rawValue }

        /// Whether the operation uses a body in memory, instead of a partial file.
        var usesMemory: Bool { self == .purging || self == .respondingToPressure }
    }

    private static let object = InterruptionPoint.object

    private let pressure = ManualMemoryPressure()

    private func with(_ body: (LifecycleFixture) async throws -> Void) async throws {
        try await LifecycleFixture.with(configure: { $0.memoryPressure = .manual(pressure) }, body)
    }

    /// Returns a download that has left the bytes that the operation uses.
    private func prepare(_ operation: Operation, on fixture: LifecycleFixture) async throws -> Download {
        var request = try fixture.request()
        if operation.usesMemory { request.destination = .memory }
        let download = fixture.downloader.start(request)
        try await InterruptionPoint.receiving.reach(on: fixture)
        if operation.usesMemory { download.pause() } else { download.cancel() }
        await fixture.endCancelled()
        while fixture.disk.openCount > 0 { await Task.yield() }
        return download
    }

    private func perform(_ operation: Operation, on fixture: LifecycleFixture, _ download: Download) async throws {
        let (downloader, directory) = (fixture.downloader, URL(fileURLWithPath: fixture.directory.path))
        switch operation {
        case .purging: await downloader.purgePaused()
        case .respondingToPressure:
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    pressure.report(.warning)
                    continuation.resume()
                }
            }
        case .restoring: _ = try await downloader.restore(in: directory)
        case .removingLeftovers: try await downloader.removeLeftovers(in: directory)
        case .creatingToken: _ = try await download.resumeToken
        case .adopting:
            let token = try token(of: "received", on: fixture)
            let request = try fixture.request("/adopted", to: "adopted.bin")
            try await downloader.adopt(token, as: request, partialFileIn: directory)
        }
    }

    /// Writes the first bytes of the object to a file, and returns a token for them.
    private func token(of name: String, on fixture: LifecycleFixture) throws -> ResumeToken {
        let range = 0..<InterruptionPoint.byteCount
        try fixture.directory.put(Self.object.content.bytes(in: range), at: "\(fixture.directory.path)/\(name)")
        return try ResumeToken(
            url: fixture.url("/adopted"), validator: Self.object.tag, receivedRanges: [range], partialName: name)
    }

    /// Starts a shutdown, and gives it time to return.
    private func shutDown(_ fixture: LifecycleFixture) async -> Task<Int, Never> {
        let hasReturned = SharedValue(false)
        let shutdown = Task {
            await fixture.downloader.shutdown()
            hasReturned.withLock { $0 = true }
            return fixture.disk.openCount
        }
        for _ in 0..<1_000 where !hasReturned.withLock({ $0 }) { await Task.yield() }
        return shutdown
    }

    @Test(arguments: Operation.allCases)
    func `a shutdown returns after the files of an operation are closed`(_ operation: Operation) async throws {
        try await with { fixture async throws in
            let download = try await prepare(operation, on: fixture)
            fixture.disk.examining.shut()
            let performing = Task { try await perform(operation, on: fixture, download) }
            while !fixture.disk.examining.hasWaiter { await Task.yield() }
            let shutdown = await shutDown(fixture)
            fixture.disk.examining.open()
            #expect(await shutdown.value == 0)
            _ = await performing.result
            #expect(fixture.disk.openCount == 0)
        }
    }

    @Test(arguments: Operation.allCases)
    func `an operation after a shutdown opens no file`(_ operation: Operation) async throws {
        try await with { fixture async throws in
            let download = try await prepare(operation, on: fixture)
            await fixture.downloader.shutdown()
            let (count, bodies) = (fixture.disk.openedCount, fixture.downloader.configuration.partialBodies.byteCount)
            #expect(operation.usesMemory == (bodies > 0))
            if operation.usesMemory {
                try await perform(operation, on: fixture, download)
            } else {
                let error = await #expect(throws: DownloadError.self) {
                    try await perform(operation, on: fixture, download)
                }
                #expect(error?.code == .shutDown)
            }
            #expect(fixture.disk.openedCount == count)
            #expect(fixture.downloader.configuration.partialBodies.byteCount == bodies)
        }
    }

    @Test func `a shutdown waits for the removal of a file from which bytes were imported`() async throws {
        try await with { fixture async throws in
            let location = PartialLocation.sample(in: fixture.directory.path)
            let name = PartialNames.lastComponent(of: PartialNames(location).path(.new(), .partial))
            let download = try await fixture.downloader.adopt(
                try token(of: name, on: fixture), as: fixture.request("/adopted"),
                partialFileIn: URL(fileURLWithPath: fixture.directory.path))
            await fixture.waitUntilIdle()
            fixture.disk.removing.shut()
            try #require(fixture.transport.open.last).answer(Self.object)
            while !fixture.disk.removing.hasWaiter { await Task.yield() }
            fixture.transport.close()
            let shutdown = await shutDown(fixture)
            #expect(fixture.directory.names().contains(name))
            fixture.disk.removing.open()
            #expect(await shutdown.value == 0)
            #expect(!fixture.directory.names().contains(name))
            await #expect(throws: DownloadError.self) { try await download.file }
        }
    }
}
