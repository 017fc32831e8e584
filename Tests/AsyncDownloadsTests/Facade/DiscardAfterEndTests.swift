internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Discarding downloads that have failed or were canceled.
@Suite(.endsWhenHung)
struct DiscardAfterEndTests {
    enum End: CaseIterable, Sendable {
        case failure, cancellation
    }

    private static let content = Content(seed: 78, length: 300_000)
    private static let cut: Int64 = 100_000

    /// Runs `body` with an environment in which the first response to a request is cut, or stalls, after some bytes.
    private func with(_ end: End, _ body: (TestEnvironment) async throws -> Void) async throws {
        try await TestEnvironment.with(configure: { $0.retryPolicy = .never }) { environment async throws in
            let step: Step = end == .failure ? [.cut(after: Self.cut)] : [.stall(after: Self.cut)]
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [step]), at: "/one")
            try await body(environment)
        }
    }

    /// Returns a download that has ended, and whose bytes are kept.
    private func ended(
        _ end: End, _ request: DownloadRequest, _ environment: TestEnvironment
    ) async throws -> Download {
        let download = environment.downloader.start(request)
        if end == .cancellation {
            try await download.progress(reaching: Self.cut)
            download.cancel()
        }
        let error = await #expect(throws: DownloadError.self) { try await download.file }
        #expect(error?.retainedByteCount == Self.cut)
        await noTransferIsLeft(environment)
        return download
    }

    private func noTransferIsLeft(_ environment: TestEnvironment) async {
        while !environment.downloader.liveTransfers.isEmpty { await Task.yield() }
    }

    private func usage(_ environment: TestEnvironment) async throws -> DiskUsage {
        try await environment.downloader.diskUsage(in: environment.directory)
    }

    @Test(arguments: End.allCases, [true, false])
    func `the bytes are removed, and the download starts anew`(_ end: End, _ isPrompt: Bool) async throws {
        try await with(end) { environment async throws in
            let download = try await ended(end, environment.request("/one"), environment)
            #expect(try await usage(environment).receivedByteCount == Self.cut)
            download.discard()
            download.discard()
            #expect(download.state == (end == .failure ? .failed : .cancelled))
            if !isPrompt {
                await noTransferIsLeft(environment)
                #expect(try environment.leftovers == [])
            }
            download.retry()
            #expect(try await download.file.fetchedByteCount == Self.content.length)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, 0])
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test(arguments: [AbandonmentPolicy.pause, .finish])
    func `a discard that follows a cancellation at once removes the bytes`(_ policy: AbandonmentPolicy) async throws {
        try await LifecycleFixture.with(configure: { $0.abandonmentPolicy = policy }) { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.receiving.reach(on: fixture)
            download.cancel()
            download.discard()
            #expect(download.state == .cancelled)
            await fixture.step(InterruptionPoint.object)
            #expect(fixture.directory.names() == [])
            #expect(fixture.transport.exchanges.count == 1)
        }
    }

    @Test func `a transfer that continues for another canceled download is not stopped`() async throws {
        try await LifecycleFixture.with(configure: { $0.abandonmentPolicy = .finish }) { fixture async throws in
            let first = fixture.downloader.start(try fixture.request(to: "first.bin"))
            let second = fixture.downloader.start(try fixture.request(to: "second.bin"))
            try await InterruptionPoint.receiving.reach(on: fixture)
            first.cancel()
            second.cancel()
            first.discard()
            await fixture.step(InterruptionPoint.object)
            #expect(fixture.directory.names() == ["second.bin"])
        }
    }

    @Test func `a download that was restored meanwhile keeps the bytes`() async throws {
        try await with(.failure) { environment async throws in
            let download = try await ended(.failure, environment.request("/one"), environment)
            let found = try await environment.downloader.restore(in: environment.directory)
            let restored = try #require(found.first)
            download.discard()
            #expect(environment.downloader.liveTransfers.count == 1)
            restored.resume()
            #expect(try await restored.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, Self.cut])
        }
    }

    @Test func `a download with other secret headers keeps the bytes of the same partial file`() async throws {
        try await with(.failure) { environment async throws in
            var request = environment.request("/one")
            request.headers = ["Authorization": "Bearer first"]
            let download = try await ended(.failure, request, environment)
            request.headers = ["Authorization": "Bearer second"]
            let other = environment.downloader.startDownload(request, isRunning: false)
            download.discard()
            #expect(environment.downloader.liveTransfers.count == 1)
            #expect(try await usage(environment).receivedByteCount == Self.cut)
            other.cancel()
            await noTransferIsLeft(environment)
            download.discard()
            await noTransferIsLeft(environment)
            #expect(try environment.leftovers == [])
        }
    }

    @Test func `bytes that another owner uses are left`() async throws {
        try await with(.failure) { environment async throws in
            let download = try await ended(.failure, environment.request("/one"), environment)
            let store = PartialStore(durability: .processCrash)
            let found = try store.unfinished(in: environment.directory.path, trustsDestinations: false)
            let owner = try store.openFile(try #require(found.first).location)
            download.discard()
            await noTransferIsLeft(environment)
            owner.close()
            #expect(try await usage(environment).receivedByteCount == Self.cut)
        }
    }

    @Test func `a finished file is never removed`() async throws {
        try await with(.cancellation) { environment async throws in
            let first = environment.downloader.start(environment.request("/one", to: "first.bin"))
            let second = environment.downloader.start(environment.request("/one", to: "second.bin"))
            try await second.progress(reaching: Self.cut)
            first.cancel()
            first.discard()
            environment.server.release("/one")
            #expect(try await second.file.byteCount == Self.content.length)
            for download in [first, second] { download.discard() }
            await noTransferIsLeft(environment)
            #expect(try environment.leftovers == ["second.bin"])
            #expect(second.state == .completed)
        }
    }

    @Test func `the bytes of a download into memory are removed`() async throws {
        try await with(.cancellation) { environment async throws in
            let request = DownloadRequest(from: environment.server.url("/one"), to: .memory)
            let download = try await ended(.cancellation, request, environment)
            let bodies = environment.downloader.configuration.partialBodies
            #expect(bodies.byteCount == Int(Self.cut))
            download.discard()
            await noTransferIsLeft(environment)
            #expect(bodies.byteCount == 0)
        }
    }

    @Test func `a directory that has been removed is not created again`() async throws {
        try await with(.failure) { environment async throws in
            let request = environment.request("/one", to: "folder/file.bin")
            let download = try await ended(.failure, request, environment)
            try FileManager.default.removeItem(at: environment.directory.appending(path: "folder"))
            download.discard()
            await noTransferIsLeft(environment)
            #expect(try environment.leftovers == [])
        }
    }
}
