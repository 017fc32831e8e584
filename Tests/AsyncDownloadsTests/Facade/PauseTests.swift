import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Pauses, cancellations, and continuation without fetching a byte twice (rules 54 and 55).
@Suite(.endsWhenHung)
struct PauseTests {
    private let content = Content(seed: 4, length: 3_000_000)
    private let stalled: Int64 = 1_200_000

    private func stall(_ environment: TestEnvironment) {
        environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.stall(after: stalled)]]), at: "/one")
    }

    /// Reads events until `count` bytes have been received.
    private func received(_ count: Int64, _ events: AsyncThrowingStream<DownloadEvent, any Error>) async throws {
        for try await event in events {
            if case .progress(let progress) = event, progress.receivedByteCount >= count { return }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a paused download continues from its bytes, and its stream stays open`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            let whole = download.events
            let listening = Task { await EventLog(whole) }
            try await received(stalled, download.events)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            #expect(download.state == .paused)
            download.resume()
            let log = await listening.value
            #expect(log.resumptions == [stalled])
            #expect(log.file?.fetchedByteCount == content.length)
            #expect(try environment.holds(content))
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, stalled])
        }
    }

    @Test func `a download is paused when its bytes are stored`() async throws {
        try await TestEnvironment.with { environment async throws in
            stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await received(stalled, download.events)
            let transfer = try #require(environment.downloader.liveTransfers.first).activate()
            transfer.queue.suspend()
            download.pause()
            while transfer.withState({ $0.machine.phase != .closing }) {
                #expect(download.state != .paused)
                await Task.yield()
            }
            #expect(download.state == .downloading)
            transfer.queue.resume()
            for try await event in download.events { if case .paused = event { break } }
            #expect(download.state == .paused)
        }
    }

    @Test(arguments: Engine.allCases)
    func `resuming immediately after pausing never restarts from zero`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await received(stalled, download.events)
            for _ in 0..<20 {
                download.pause()
                download.resume()
            }
            let file = try await download.file
            #expect(file.fetchedByteCount == content.length)
            #expect(try environment.holds(content))
            // A request may receive bytes before the next pause.
            let offsets = environment.server.requests(at: "/one").dropFirst().map(offset(of:))
            #expect(offsets.first == stalled && offsets == offsets.sorted(), "\(offsets)")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a canceled task throws a cancellation error, and a new request continues`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await received(stalled, download.events)
            let task = Task { try await download.file }
            while !download.hasWaiter { await Task.yield() }
            task.cancel()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            let again = environment.downloader.start(environment.request("/one"))
            #expect(try await again.file.byteCount == content.length)
            #expect(try environment.holds(content))
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, stalled])
        }
    }

    @Test
    func `canceling the task that reads events cancels the download`() async throws {
        try await TestEnvironment.with { environment async throws in
            stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            let (progress, report) = AsyncStream.makeStream(of: Int64.self)
            let task = Task {
                for try await event in download.events {
                    if case .progress(let progress) = event { report.yield(progress.receivedByteCount) }
                }
            }
            for await count in progress where count >= stalled { break }
            task.cancel()
            // If the task is not waiting for an event when it is canceled, the loop ends without an error, as with any
            // stream.
            if case .failure(let error as DownloadError) = await task.result {
                #expect(error.code == .cancelled)
                #expect(error.retainedByteCount == stalled)
            }
            #expect(download.state == .cancelled)
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .cancelled)
            #expect(error?.retainedByteCount == stalled)
        }
    }

    @Test
    func `exiting the event loop does not affect the download`() async throws {
        try await TestEnvironment.with { environment async throws in
            stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await received(stalled, download.events)
            environment.server.release("/one")
            #expect(try await download.file.byteCount == content.length)
            #expect(environment.server.requests(at: "/one").count == 1)
        }
    }

    @Test
    func `discarding removes all files of the download`() async throws {
        try await TestEnvironment.with { environment async throws in
            stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await received(stalled, download.events)
            download.discard()
            await environment.downloader.shutdown()
            #expect(try environment.leftovers == [])
        }
    }

    @Test
    func `pausing one download does not pause the others`() async throws {
        try await TestEnvironment.with { environment async throws in
            stall(environment)
            let pausing = environment.downloader.start(environment.request("/one", to: "a"))
            let running = environment.downloader.start(environment.request("/one", to: "b"))
            try await received(stalled, running.events)
            pausing.pause()
            #expect(pausing.state == .paused && running.state == .downloading)
            environment.server.release("/one")
            #expect(try await running.file.byteCount == content.length)
            #expect(try await pausing.file.byteCount == content.length)
            #expect(environment.server.requests(at: "/one").count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `another downloader lists and continues unfinished downloads`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await received(stalled, download.events)
            await environment.downloader.shutdown()
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .shutDown)

            let second = Downloader(configuration: environment.downloader.configuration)
            let restored = try await second.restore(in: environment.directory)
            #expect(restored.map(\.request.url) == [environment.server.url("/one")])
            #expect(restored.map(\.state) == [.paused])
            #expect(restored.map(\.progress.receivedByteCount) == [stalled])
            for download in restored { download.resume() }
            for download in restored { #expect(try await download.file.byteCount == content.length) }
            #expect(try environment.holds(content))
            #expect(try environment.leftovers == ["file.bin"])
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, stalled])
            await second.shutdown()
        }
    }

    @Test
    func `pauseAll and resumeAll apply to every download`() async throws {
        try await TestEnvironment.with { environment async throws in
            for path in ["/a", "/b", "/c"] {
                environment.server.serve(
                    Resource(content, entityTag: "\"a\"", script: [[.stall(after: stalled)]]), at: path)
            }
            let downloads = ["a", "b", "c"].map { environment.downloader.start(environment.request("/\($0)", to: $0)) }
            for download in downloads { try await received(stalled, download.events) }
            environment.downloader.pauseAll()
            for download in downloads {
                for try await event in download.events { if case .paused = event { break } }
            }
            environment.downloader.resumeAll()
            for download in downloads { #expect(try await download.file.fetchedByteCount == content.length) }
        }
    }
}
