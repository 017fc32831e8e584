import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// What a batch starts, holds, and leaves.
@Suite(.endsWhenHung)
struct BatchWindowTests {
    private func requests(_ count: Int, on stage: LifecycleStage) throws -> [DownloadRequest] {
        try (0..<count).map { try stage.request("/\($0)", to: "\($0).bin") }
    }

    /// Answers every exchange as soon as it begins, until it is cancelled.
    private func serve(_ stage: LifecycleStage) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                await stage.step(Moment.object)
                await Task.yield()
            }
        }
    }

    @Test(arguments: [AbandonmentPolicy.pause, .finish, .discard])
    func `a batch that is left starts nothing more`(_ policy: AbandonmentPolicy) async throws {
        try await LifecycleStage.with(configure: {
            $0.abandonmentPolicy = policy
            $0.maximumConcurrentTransfers = 50
            $0.maximumConcurrentTransfersPerHost = 50
        }) { stage async throws in
            let serving = serve(stage)
            for try await outcome in stage.downloader.batch(try requests(200, on: stage), limit: 4) {
                #expect((try? outcome.result.get()) != nil)
                break
            }
            await stage.performEffects()
            let count = stage.transport.exchanges.count
            #expect(count <= 4)
            for _ in 0..<100 { await Task.yield() }
            #expect(stage.transport.exchanges.count == count)
            serving.cancel()
            await serving.value
            if policy != .finish { #expect(stage.downloader.liveTransfers.isEmpty) }
        }
    }

    @Test func `an iterator that is not asked again starts nothing, whether or not it is let go of`() async throws {
        try await LifecycleStage.with { stage async throws in
            let serving = serve(stage)
            var iterator = stage.downloader.batch(try requests(100, on: stage), limit: 3).makeAsyncIterator()
            #expect(stage.transport.exchanges.isEmpty)
            _ = try await iterator.next()
            await stage.performEffects()
            #expect(stage.transport.exchanges.count == 3)
            _ = try await iterator.next()
            await stage.performEffects()
            #expect(stage.transport.exchanges.count <= 4)
            serving.cancel()
            await serving.value
        }
    }

    @Test func `a canceled batch throws, and starts and keeps nothing running`() async throws {
        try await LifecycleStage.with { stage async throws in
            let requests = try requests(100, on: stage)
            let isRunning = Gate()
            let task = Task {
                for try await _ in stage.downloader.batch(requests, limit: 3) { isRunning.open() }
            }
            let first = await stage.transport.exchange(0)
            first.answer(Moment.object)
            first.deliver(Moment.object.content.length)
            first.end(.complete)
            await withCheckedContinuation { continuation in isRunning.whenOpen { continuation.resume() } }
            task.cancel()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            await stage.endCancelled()
            #expect(stage.transport.open.isEmpty)
            #expect(stage.transport.exchanges.count <= 4)
        }
    }

    @Test func `a batch in a task that is canceled already starts nothing`() async throws {
        try await LifecycleStage.with { stage async throws in
            let requests = try requests(3, on: stage)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                for try await _ in stage.downloader.batch(requests) {}
            }
            await #expect(throws: DownloadError.self) { try await task.value }
            let single = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await stage.downloader.download(requests[0])
            }
            let error = await #expect(throws: DownloadError.self) { try await single.value }
            #expect(error?.code == .cancelled)
            #expect(error?.url == requests[0].url)
            #expect(stage.transport.exchanges.isEmpty)
        }
    }

    @Test func `a place comes free when an outcome is taken`() async throws {
        try await LifecycleStage.with { stage async throws in
            let serving = serve(stage)
            var iterator = stage.downloader.batch(try requests(20, on: stage), limit: 3).makeAsyncIterator()
            var taken = 0
            while try await iterator.next() != nil {
                taken += 1
                await stage.performEffects()
                #expect(stage.transport.exchanges.count <= taken + 2)
            }
            #expect(taken == 20)
            #expect(try await iterator.next() == nil)
            serving.cancel()
            await serving.value
        }
    }

    @Test func `requests are taken lazily, so that there may be any number of them`() async throws {
        try await LifecycleStage.with { stage async throws in
            let serving = serve(stage)
            let made = Mutex(0)
            let template = try stage.request()
            let endless = sequence(first: 0) { $0 + 1 }.lazy.map { number -> DownloadRequest in
                made.withLock { $0 += 1 }
                var request = template
                request.url.append(path: "\(number)")
                request.destination = .file(URL(fileURLWithPath: "\(stage.directory.path)/\(number)"))
                return request
            }
            var count = 0
            for try await outcome in stage.downloader.batch(endless, limit: 2) {
                #expect(outcome.request.url.path == "/one/\(outcome.index)")
                count += 1
                if count == 10 { break }
            }
            #expect(made.withLock { $0 } <= 11)
            serving.cancel()
            await serving.value
        }
    }

    @Test func `requests may come asynchronously, also from the outcomes of earlier ones`() async throws {
        try await LifecycleStage.with { stage async throws in
            let serving = serve(stage)
            let (requests, continuation) = AsyncStream.makeStream(of: DownloadRequest.self)
            continuation.yield(try stage.request("/0", to: "0.bin"))
            var paths: [String] = []
            for try await outcome in stage.downloader.batch(requests, limit: 4) {
                paths.append(outcome.request.url.path)
                if paths.count == 5 {
                    continuation.finish()
                } else {
                    continuation.yield(try stage.request("/\(paths.count)", to: "\(paths.count).bin"))
                }
            }
            #expect(paths == (0..<5).map { "/\($0)" })
            serving.cancel()
            await serving.value
        }
    }

    @Test func `an error of the requests ends the batch after the running downloads`() async throws {
        struct NoMore: Error {}
        try await LifecycleStage.with { stage async throws in
            let serving = serve(stage)
            let (requests, continuation) = AsyncThrowingStream.makeStream(of: DownloadRequest.self)
            for request in try self.requests(3, on: stage) { continuation.yield(request) }
            continuation.finish(throwing: NoMore())
            var count = 0
            await #expect(throws: NoMore.self) {
                for try await outcome in stage.downloader.batch(requests, limit: 8) {
                    #expect((try? outcome.result.get()) != nil)
                    count += 1
                }
            }
            #expect(count == 3)
            serving.cancel()
            await serving.value
        }
    }
}
