import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The batches whose downloads are child tasks: `downloadAll` and both forms of `downloadEach`.
@Suite(.endsWhenHung)
struct StructuredBatchTests {
    enum Form: CaseIterable, Sendable {
        case all, each, eachAsync

        /// Downloads all requests, and returns the number of outcomes.
        @discardableResult
        func run(
            _ requests: some Sequence<DownloadRequest> & Sendable, limit: Int? = nil, on fixture: LifecycleFixture
        ) async throws -> Int {
            let count = SharedValue(0)
            switch self {
            case .all: return try await fixture.downloader.downloadAll(requests, limit: limit).count
            case .each:
                try await fixture.downloader.downloadEach(requests, limit: limit) { _ in count.withLock { $0 += 1 } }
            case .eachAsync:
                try await fixture.downloader.downloadEach(Self.stream(requests), limit: limit) { _ in
                    count.withLock { $0 += 1 }
                }
            }
            return count.withLock { $0 }
        }

        /// Returns the requests as an asynchronous sequence that reads one when it is asked for one.
        static func stream(_ requests: some Sequence<DownloadRequest> & Sendable) -> AsyncStream<DownloadRequest> {
            let iterator = SharedValue(SendableIterator(AnyIterator(requests.makeIterator())))
            return AsyncStream { iterator.withLock { $0.iterator.next() } }
        }

        private struct SendableIterator: @unchecked Sendable {  // It is used only under a lock.
            let iterator: AnyIterator<DownloadRequest>

            init(_ iterator: AnyIterator<DownloadRequest>) {
                self.iterator = iterator
            }
        }
    }

    /// Requests that are counted when they are read.
    struct CountedRequests: Sequence, Sendable {
        let requests: [DownloadRequest]
        let read = SharedValue(0)

        var readCount: Int { read.withLock { $0 } }

        func makeIterator() -> AnyIterator<DownloadRequest> {
            let (requests, read) = (requests, read)
            return AnyIterator {
                read.withLock { count in
                    guard count < requests.count else { return nil }
                    defer { count += 1 }
                    return requests[count]
                }
            }
        }
    }

    struct Stop: Error {}

    @Test(arguments: Form.allCases, [(3, 3), (0, 1), (.max, 8)])
    func `no more downloads than the limit are unfinished, and requests are read one by one`(
        _ form: Form, _ limits: (given: Int, effective: Int)
    ) async throws {
        let (limit, count) = (limits.effective, 8)
        try await LifecycleFixture.with(configure: {
            $0.maximumConcurrentTransfers = 50
            $0.maximumConcurrentTransfersPerHost = 50
        }) { fixture async throws in
            let requests = CountedRequests(requests: try fixture.requests(count))
            let task = Task { try await form.run(requests, limit: limits.given, on: fixture) }
            for number in 0..<count {
                let wanted = min(number + limit, count)
                _ = await fixture.transport.exchange(wanted - 1)
                for _ in 0..<50 { await Task.yield() }
                await fixture.waitUntilIdle()
                #expect(fixture.transport.exchanges.count == wanted)
                #expect(requests.readCount == wanted)
                fixture.transport.exchanges[number].complete()
            }
            #expect(try await task.value == count)
        }
    }

    @Test(arguments: Form.allCases)
    func `without a limit, twice as many downloads are unfinished as run`(_ form: Form) async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 2 }) { fixture async throws in
            let requests = CountedRequests(requests: try fixture.requests(9))
            let task = Task { try await form.run(requests, on: fixture) }
            while fixture.downloader.liveTransfers.count < 4 { await Task.yield() }
            for _ in 0..<50 { await Task.yield() }
            #expect(requests.readCount == 4)
            let serving = fixture.serve()
            #expect(try await task.value == 9)
            serving.cancel()
            await serving.value
        }
    }

    @Test(arguments: Form.allCases)
    func `no requests are done at once`(_ form: Form) async throws {
        try await LifecycleFixture.with { fixture async throws in
            #expect(try await form.run([], on: fixture) == 0)
            #expect(fixture.transport.exchanges.isEmpty)
        }
    }

    @Test(arguments: Form.allCases, [0, 3])
    func `a task that is already canceled starts nothing, and throws`(_ form: Form, _ count: Int) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = CountedRequests(requests: try fixture.requests(count))
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await form.run(requests, on: fixture)
            }
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(requests.readCount == 0)
            #expect(fixture.transport.exchanges.isEmpty)
        }
    }

    @Test(arguments: Form.allCases)
    func `canceling the task cancels the downloads, starts no others, and throws`(_ form: Form) async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = CountedRequests(requests: try fixture.requests(9))
            let task = Task { try await form.run(requests, limit: 3, on: fixture) }
            _ = await fixture.transport.exchange(2)
            await fixture.waitUntilIdle()
            fixture.transport.exchanges[0].complete()
            _ = await fixture.transport.exchange(3)
            task.cancel()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            // The call may end before the last exchange is canceled.
            await fixture.waitUntilIdle()
            #expect(fixture.downloader.callerCount == 0, "no download outlives the call")
            #expect(fixture.transport.exchanges.count == 4)
            #expect(requests.readCount == 4)
            #expect(fixture.transport.open.filter { !$0.isCancelled }.isEmpty)
        }
    }

    @Test func `all or nothing: the files are in the order of the requests, not of their ends`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = try fixture.requests(4)
            let task = Task { try await fixture.downloader.downloadAll(requests, limit: 3) }
            _ = await fixture.transport.exchange(2)
            await fixture.waitUntilIdle()
            for number in [2, 1, 0] { fixture.transport.exchanges[number].complete() }
            await fixture.transport.exchange(3).complete()
            #expect(try await task.value.map(\.url.lastPathComponent) == (0..<4).map { "\($0).bin" })
        }
    }

    @Test func `all or nothing: the first failure cancels the others, and is thrown`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let requests = CountedRequests(requests: try fixture.requests(9))
            let task = Task { () async throws(DownloadError) in
                try await fixture.downloader.downloadAll(requests, limit: 3)
            }
            _ = await fixture.transport.exchange(2)
            await fixture.waitUntilIdle()
            try #require(fixture.transport.exchanges.first { $0.path == "/1" }).refuse(404)
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.statusCode == 404)
            #expect(error?.url == requests.requests[1].url)
            #expect(fixture.downloader.callerCount == 0)
            #expect(fixture.transport.exchanges.count == 3)
            #expect(requests.readCount == 3)
        }
    }
}
