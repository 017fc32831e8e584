import Foundation
import Testing

@testable import AsyncDownloads

/// The outcomes and the bodies of `downloadEach`, and sequences of requests that end with an error.
extension StructuredBatchTests {
    @Test(arguments: [false, true])
    func `the failure of a download is delivered, and the others continue`(_ isAsync: Bool) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = try fixture.requests(5)
            let outcomes = SharedValue<[Int: BatchOutcome]>([:])
            let body: @Sendable (BatchOutcome) -> Void = { outcome in
                outcomes.withLock { $0[outcome.index] = outcome }
            }
            let task = Task {
                if isAsync {
                    try await fixture.downloader.downloadEach(Form.stream(requests), limit: 2, body: body)
                } else {
                    try await fixture.downloader.downloadEach(requests, limit: 2, body: body)
                }
            }
            for number in 0..<5 {
                let exchange = await fixture.transport.exchange(number)
                await fixture.waitUntilIdle()
                if exchange.path == "/3" { exchange.refuse(404) } else { exchange.complete() }
            }
            try await task.value
            let delivered = outcomes.withLock { $0 }
            #expect(delivered.count == 5)
            for (index, outcome) in delivered {
                #expect(outcome.request == requests[index])
                switch outcome.result {
                case .success(let file): #expect(file.url.lastPathComponent == "\(index).bin")
                case .failure(let error): #expect(index == 3 && error.statusCode == 404)
                }
            }
        }
    }

    @Test func `a download that was canceled by its URL is an outcome, and the others continue`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = try fixture.requests(2)
            let failed = SharedValue<[Int]>([])
            let task = Task {
                try await fixture.downloader.downloadEach(requests) { outcome in
                    if case .failure(let error) = outcome.result, error.code == .cancelled {
                        failed.withLock { $0.append(outcome.index) }
                    }
                }
            }
            _ = await fixture.transport.exchange(1)
            fixture.downloader.cancelDownloads(for: requests[0].url)
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.first { !$0.isCancelled }).complete()
            try await task.value
            #expect(failed.withLock { $0 } == [0])
        }
    }

    @Test(arguments: [false, true])
    func `an error of the body cancels the rest, and is thrown when every body has returned`(
        _ isAsync: Bool
    ) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = CountedRequests(requests: try fixture.requests(9))
            let (isRunning, mayReturn, hasReturned) = (Gate(), Gate(), SharedValue(false))
            let body: @Sendable (BatchOutcome) async throws -> Void = { outcome in
                guard outcome.index == 0 else { throw Stop() }
                isRunning.open()
                await mayReturn.opened()
                hasReturned.withLock { $0 = true }
            }
            let hasEnded = SharedValue(false)
            let task = Task {
                defer { hasEnded.withLock { $0 = true } }
                if isAsync {
                    try await fixture.downloader.downloadEach(Form.stream(requests), limit: 3, body: body)
                } else {
                    try await fixture.downloader.downloadEach(requests, limit: 3, body: body)
                }
            }
            _ = await fixture.transport.exchange(2)
            await fixture.waitUntilIdle()
            try #require(fixture.transport.exchanges.first { $0.path == "/0" }).complete()
            await isRunning.opened()
            try #require(fixture.transport.exchanges.first { $0.path == "/1" }).complete()
            // The error cancels the download of the third request.
            while fixture.downloader.callerCount > 0 { await Task.yield() }
            for _ in 0..<50 { await Task.yield() }
            #expect(!hasEnded.withLock { $0 }, "the body of the first request has not returned")
            mayReturn.open()
            await #expect(throws: Stop.self) { try await task.value }
            #expect(hasReturned.withLock { $0 })
            #expect(fixture.transport.exchanges.count == 3)
            #expect(requests.readCount == 3)
        }
    }

    @Test func `as many bodies run concurrently as the limit permits`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            let gates = [Gate(), Gate()]
            // Each body waits for the other one to start.
            try await fixture.downloader.downloadEach(fixture.requests(2), limit: 2) { outcome in
                gates[outcome.index].open()
                await gates[1 - outcome.index].opened()
            }
            serving.cancel()
            await serving.value
        }
    }

    @Test func `with a limit of 1, each body returns before the next download starts`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            let order = SharedValue<[Int]>([])
            try await fixture.downloader.downloadEach(fixture.requests(4), limit: 1) { outcome in
                for _ in 0..<20 { await Task.yield() }
                #expect(fixture.transport.exchanges.count == outcome.index + 1)
                order.withLock { $0.append(outcome.index) }
            }
            #expect(order.withLock { $0 } == [0, 1, 2, 3])
            serving.cancel()
            await serving.value
        }
    }

    @Test func `a call that is canceled during its last body throws, although nothing is left to do`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            let (isRunning, mayReturn) = (Gate(), Gate())
            let requests = try fixture.requests(1)
            let task = Task {
                try await fixture.downloader.downloadEach(requests) { _ in
                    isRunning.open()
                    await mayReturn.opened()
                }
            }
            await isRunning.opened()
            task.cancel()
            mayReturn.open()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            serving.cancel()
            await serving.value
        }
    }

    @Test func `requests may arrive in response to earlier outcomes`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            let all = try fixture.requests(5)
            let (requests, continuation) = AsyncStream.makeStream(of: DownloadRequest.self)
            continuation.yield(all[0])
            let paths = SharedValue<[String]>([])
            try await fixture.downloader.downloadEach(requests, limit: 4) { outcome in
                paths.withLock { $0.append(outcome.request.url.path) }
                let next = outcome.index + 1
                if next < all.count { continuation.yield(all[next]) } else { continuation.finish() }
            }
            #expect(paths.withLock { $0 } == (0..<5).map { "/\($0)" })
            serving.cancel()
            await serving.value
        }
    }

    @Test func `an error of the body ends a call that waits for the next request`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let serving = fixture.serve()
            let (requests, continuation) = AsyncStream.makeStream(of: DownloadRequest.self)
            continuation.yield(try fixture.request())
            await #expect(throws: Stop.self) {
                try await fixture.downloader.downloadEach(requests, limit: 4) { _ in throw Stop() }
            }
            serving.cancel()
            await serving.value
        }
    }

    @Test func `an error of the request sequence cancels the downloads, and is thrown`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let all = try fixture.requests(2)
            let (requests, continuation) = AsyncThrowingStream.makeStream(of: DownloadRequest.self)
            for request in all { continuation.yield(request) }
            let task = Task {
                try await fixture.downloader.downloadEach(requests) { _ in Issue.record("no download ends") }
            }
            _ = await fixture.transport.exchange(1)
            continuation.finish(throwing: Stop())
            await #expect(throws: Stop.self) { try await task.value }
            #expect(fixture.downloader.callerCount == 0)
        }
    }
}
