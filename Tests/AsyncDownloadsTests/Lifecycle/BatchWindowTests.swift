import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The downloads that a batch starts, holds, and cancels.
@Suite(.endsWhenHung)
struct BatchWindowTests {
    @Test(arguments: [AbandonmentPolicy.pause, .finish, .discard])
    func `a batch whose loop was exited starts no more downloads`(_ policy: AbandonmentPolicy) async throws {
        try await LifecycleFixture.with(configure: {
            $0.abandonmentPolicy = policy
            $0.maximumConcurrentTransfers = 50
            $0.maximumConcurrentTransfersPerHost = 50
        }) { fixture async throws in
            let serving = fixture.serve()
            for try await outcome in fixture.downloader.batch(try fixture.requests(200), limit: 4) {
                #expect((try? outcome.result.get()) != nil)
                break
            }
            await fixture.waitUntilIdle()
            let count = fixture.transport.exchanges.count
            #expect(count <= 4)
            for _ in 0..<100 { await Task.yield() }
            #expect(fixture.transport.exchanges.count == count)
            // The canceled downloads end as soon as the engine has ended their exchanges.
            while policy != .finish, !fixture.downloader.liveTransfers.isEmpty { await Task.yield() }
            serving.cancel()
            await serving.value
        }
    }

    @Test(arguments: [(5, 10), (.max, .max)])
    func `without a limit, as many downloads of a batch wait as run`(count: Int, limit: Int) async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = count }) { fixture async throws in
            #expect(fixture.downloader.batch([]).limit == limit)
            #expect(fixture.downloader.batch([], limit: 3).limit == 3)
            #expect(fixture.downloader.batch([], limit: 0).limit == 1)
            #expect(fixture.downloader.batch([], limit: .min).limit == 1)
        }
    }

    @Test func `an iterator that is no longer used starts no more downloads, released or not`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            var iterator = fixture.downloader.batch(try fixture.requests(100), limit: 3).makeAsyncIterator()
            #expect(fixture.transport.exchanges.isEmpty)
            _ = try await iterator.next()
            await fixture.waitUntilIdle()
            #expect(fixture.transport.exchanges.count == 3)
            _ = try await iterator.next()
            await fixture.waitUntilIdle()
            #expect(fixture.transport.exchanges.count <= 4)
            serving.cancel()
            await serving.value
        }
    }

    @Test func `a canceled batch throws, starts no downloads, and cancels the running ones`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = try fixture.requests(100)
            let isRunning = Gate()
            let task = Task {
                for try await _ in fixture.downloader.batch(requests, limit: 3) { isRunning.open() }
            }
            let first = await fixture.transport.exchange(0)
            first.answer(InterruptionPoint.object)
            first.deliver(InterruptionPoint.object.content.length)
            first.end(.complete)
            await isRunning.opened()
            task.cancel()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            // The loop may end before the last exchange is canceled.
            await fixture.waitUntilIdle()
            await fixture.endCancelled()
            #expect(fixture.transport.open.isEmpty)
            #expect(fixture.transport.exchanges.count <= 4)
        }
    }

    @Test func `a batch in a canceled task starts no downloads`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = try fixture.requests(3)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                for try await _ in fixture.downloader.batch(requests) {}
            }
            await #expect(throws: DownloadError.self) { try await task.value }
            let single = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await fixture.downloader.download(requests[0])
            }
            let error = await #expect(throws: DownloadError.self) { try await single.value }
            #expect(error?.code == .cancelled)
            #expect(error?.url == requests[0].url)
            #expect(fixture.transport.exchanges.isEmpty)
        }
    }

    @Test func `a download may start when an outcome has been taken`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            var iterator = fixture.downloader.batch(try fixture.requests(20), limit: 3).makeAsyncIterator()
            var taken = 0
            while try await iterator.next() != nil {
                taken += 1
                await fixture.waitUntilIdle()
                #expect(fixture.transport.exchanges.count <= taken + 2)
            }
            #expect(taken == 20)
            #expect(try await iterator.next() == nil)
            serving.cancel()
            await serving.value
        }
    }

    @Test func `requests are taken lazily, so their number may be unlimited`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            let made = Mutex(0)
            let template = try fixture.request()
            let endless = sequence(first: 0) { $0 + 1 }.lazy.map { number -> DownloadRequest in
                made.withLock { $0 += 1 }
                var request = template
                request.url.append(path: "\(number)")
                request.destination = .file(URL(fileURLWithPath: "\(fixture.directory.path)/\(number)"))
                return request
            }
            var count = 0
            for try await outcome in fixture.downloader.batch(endless, limit: 2) {
                #expect(outcome.request.url.path == "/one/\(outcome.index)")
                count += 1
                if count == 10 { break }
            }
            #expect(made.withLock { $0 } <= 11)
            serving.cancel()
            await serving.value
        }
    }

    @Test func `requests may arrive asynchronously, even in response to earlier outcomes`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            let (requests, continuation) = AsyncStream.makeStream(of: DownloadRequest.self)
            continuation.yield(try fixture.request("/0", to: "0.bin"))
            var paths: [String] = []
            for try await outcome in fixture.downloader.batch(requests, limit: 4) {
                paths.append(outcome.request.url.path)
                if paths.count == 5 {
                    continuation.finish()
                } else {
                    continuation.yield(try fixture.request("/\(paths.count)", to: "\(paths.count).bin"))
                }
            }
            #expect(paths == (0..<5).map { "/\($0)" })
            serving.cancel()
            await serving.value
        }
    }

    @Test func `an error of the request sequence ends the batch after the running downloads`() async throws {
        struct NoMore: Error {}
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            let (requests, continuation) = AsyncThrowingStream.makeStream(of: DownloadRequest.self)
            for request in try fixture.requests(3) { continuation.yield(request) }
            continuation.finish(throwing: NoMore())
            var count = 0
            await #expect(throws: NoMore.self) {
                for try await outcome in fixture.downloader.batch(requests, limit: 8) {
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
