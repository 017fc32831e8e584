import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Observers: streams of states and Foundation's `Progress`, neither of which keeps a download running.
@Suite(.endsWhenHung)
struct EventStreamTests {
    private static let content = Content(seed: 71, length: 300_000)

    @Test func `states are emitted in order, and the last one is final`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: 100_000)
            var states = download.states.makeAsyncIterator()
            #expect(await states.next() == .downloading)
            download.pause()
            #expect(await states.next() == .paused)
            download.resume()
            var last: Download.State?
            while let state = await states.next() { last = state }
            #expect(last == .completed)
            #expect(await states.next() == nil)
        }
    }

    @Test(arguments: [true, false])
    func `a download that fails or is canceled ends with the corresponding state`(_ isCancelled: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, script: [[.holdHead, .status(404)]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            let states = download.states
            _ = await environment.server.requests(at: "/one", reaching: 1)
            if isCancelled { download.cancel() } else { environment.server.release("/one") }
            var last: Download.State?
            for await state in states { last = state }
            #expect(last == (isCancelled ? .cancelled : .failed))
        }
    }

    @Test func `an observer neither keeps a download running nor cancels it`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            let progress = download.makeProgress()
            let watching = Task { for await _ in download.states {} }
            _ = await environment.server.requests(at: "/one", reaching: 1)
            watching.cancel()
            await watching.value
            #expect(download.state == .downloading)
            let awaiting = Task { try await download.file }
            while !download.hasWaiter { await Task.yield() }
            awaiting.cancel()
            _ = await awaiting.result
            #expect(download.state == .cancelled)
            #expect(!progress.isCancelled)
        }
    }

    @Test func `Progress reports the received bytes and ends complete`() async throws {
        try await TestEnvironment.with { environment async throws in
            let script: [Step] = [[.holdHead, .stall(after: 100_000)]]
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: script), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            let progress = download.makeProgress()
            #expect(progress.isIndeterminate)
            _ = await environment.server.requests(at: "/one", reaching: 1)
            environment.server.release("/one")
            try await download.progress(reaching: 100_000)
            while progress.completedUnitCount < 100_000 { await Task.yield() }
            #expect(progress.totalUnitCount == Self.content.length)
            environment.server.release("/one")
            _ = try await download.file
            while !progress.isFinished { await Task.yield() }
            #expect(progress.completedUnitCount == Self.content.length)
        }
    }

    @Test func `Progress pauses, resumes and cancels the download`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            let progress = download.makeProgress()
            try await download.progress(reaching: 100_000)
            var states = download.states.makeAsyncIterator()
            #expect(await states.next() == .downloading)
            progress.pause()
            #expect(await states.next() == .paused)
            progress.resume()
            #expect(try await download.file.byteCount == Self.content.length)

            environment.server.serve(Resource(Self.content, script: [[.holdHead]]), at: "/two")
            let second = environment.downloader.start(environment.request("/two", to: "two.bin"))
            _ = await environment.server.requests(at: "/two", reaching: 1)
            second.makeProgress().cancel()
            let error = await #expect(throws: DownloadError.self) { try await second.file }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func `many downloads update one parent progress, one at a time`() async throws {
        try await TestEnvironment.with(configure: {
            $0.maximumConcurrentTransfers = 50
            $0.maximumConcurrentTransfersPerHost = 50
        }) { environment async throws in
            let content = Content(seed: 4, length: 400_000)
            let parent = Progress(totalUnitCount: 50)
            let downloads = (0..<50).map { number -> Download in
                environment.server.serve(Resource(content, entityTag: "\"a\""), at: "/\(number)")
                let download = environment.downloader.start(environment.request("/\(number)", to: "\(number).bin"))
                download.makeProgress(under: parent, pendingUnitCount: 1)
                return download
            }
            for download in downloads { _ = try await download.file }
            // The last changes are made by separate tasks.
            while ProgressChanges.inTurn({ parent.fractionCompleted }) < 1 { await Task.yield() }
            #expect(ProgressChanges.inTurn { parent.completedUnitCount } == 50)
        }
    }
}
