import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Pausing, leaving and coming back: no byte is fetched twice (rules 54 and 55).
@Suite(.endsWhenHung)
struct PausingTests {
    private let content = Content(seed: 4, length: 3_000_000)
    private let stalled: Int64 = 1_200_000

    private func stall(_ environment: TestEnvironment) {
        environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.stall(after: stalled)]]), at: "/one")
    }

    /// Listens until `count` bytes are there.
    private func received(_ count: Int64, _ events: AsyncThrowingStream<DownloadEvent, any Error>) async throws {
        for try await event in events {
            if case .progress(let progress) = event, progress.receivedByteCount >= count { return }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a paused download goes on from its bytes, and its stream stays open`(_ engine: Engine) async throws {
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

    @Test(arguments: Engine.allCases)
    func `resuming at once after pausing never begins at zero`(_ engine: Engine) async throws {
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
            #expect(environment.server.requests(at: "/one").dropFirst().allSatisfy { offset(of: $0) == stalled })
        }
    }

    @Test(arguments: Engine.allCases)
    func `a cancelled task surfaces as cancelled, and asking again continues`(_ engine: Engine) async throws {
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
    func `a task that is cancelled in the loop leaves the download`() async throws {
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
            // Where it is not waiting for an event at that moment, the loop merely ends, as of any stream.
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
    func `leaving the loop changes nothing`() async throws {
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
    func `discarding leaves no trace`() async throws {
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
    func `one handle's pause does not pause the others`() async throws {
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
    func `another downloader continues what one has left, and lists it`(_ engine: Engine) async throws {
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
    func `everything can be paused and resumed at once`() async throws {
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
