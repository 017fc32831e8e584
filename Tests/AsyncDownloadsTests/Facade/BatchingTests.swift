import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Many downloads in one task group.
@Suite(.endsWhenHung)
struct BatchingTests {
    private let content = Content(seed: 10, length: 100_000)

    private func requests(_ count: Int, _ shop: Workshop) -> [DownloadRequest] {
        (0..<count).map { shop.request("/\($0)", to: "\($0)") }
    }

    @Test(arguments: Engine.allCases)
    func `one failure does not stop the rest`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            for number in 0..<20 where number != 7 { shop.server.serve(Resource(content), at: "/\(number)") }
            var outcomes: [Int: Result<DownloadedFile, DownloadError>] = [:]
            for try await outcome in shop.downloader.batch(requests(20, shop), limit: 3) {
                outcomes[outcome.index] = outcome.result
                #expect(outcome.request == shop.request("/\(outcome.index)", to: "\(outcome.index)"))
            }
            #expect(outcomes.count == 20)
            for (index, result) in outcomes {
                switch result {
                case .success(let file): #expect(file.url.lastPathComponent == "\(index)")
                case .failure(let error): #expect(index == 7 && error.statusCode == 404)
                }
            }
        }
    }

    @Test
    func `no more than the limit are asked for at a time`() async throws {
        try await Workshop.with(configure: { $0.maximumConcurrentTransfers = 50 }) { shop async throws in
            for number in 0..<9 {
                shop.server.serve(Resource(content, script: [[.holdHead]]), at: "/\(number)")
            }
            let task = Task {
                for try await _ in shop.downloader.batch(requests(9, shop), limit: 3) {}
            }
            for number in 0..<9 {
                _ = await shop.server.requests(at: "/\(number)", reaching: 1)
                #expect(shop.downloader.callerCount <= 3)
                shop.server.release("/\(number)")
            }
            try await task.value
        }
    }

    @Test
    func `a cancelled batch is no complete one, and its bytes are kept`() async throws {
        try await Workshop.with { shop async throws in
            shop.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 60_000)]]), at: "/0")
            let task = Task { for try await _ in shop.downloader.batch(requests(1, shop)) {} }
            while shop.downloader.liveTransfers.first?.withState({ $0.machine.received.count }) != 60_000 {
                await Task.yield()
            }
            task.cancel()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            _ = try await shop.downloader.download(shop.request("/0", to: "0"))
            #expect(shop.server.requests(at: "/0").map(offset(of:)) == [0, 60_000])
        }
    }

    @Test
    func `all or nothing: files come in the order of the requests`() async throws {
        try await Workshop.with { shop async throws in
            for number in 0..<10 { shop.server.serve(Resource(content), at: "/\(number)") }
            let files = try await shop.downloader.downloadAll(requests(10, shop))
            #expect(files.map(\.url.lastPathComponent) == (0..<10).map(String.init))
        }
    }

    @Test
    func `all or nothing: a failure cancels the rest and keeps their bytes`() async throws {
        try await Workshop.with { shop async throws in
            shop.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 60_000)]]), at: "/0")
            shop.server.serve(Resource(content, script: [[.holdHead, .status(404)]]), at: "/1")
            let task = Task { try await shop.downloader.downloadAll(requests(2, shop)) }
            _ = await shop.server.requests(at: "/1", reaching: 1)
            while !shop.downloader.liveTransfers.contains(where: {
                $0.withState { $0.machine.received.count } == 60_000
            }) {
                await Task.yield()
            }
            shop.server.release("/1")
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.statusCode == 404)
            _ = try await shop.downloader.download(shop.request("/0", to: "0"))
            #expect(shop.server.requests(at: "/0").map(offset(of:)) == [0, 60_000])
        }
    }

    @Test
    func `all or nothing: cancelling the parent surfaces as cancelled`() async throws {
        try await Workshop.with { shop async throws in
            shop.server.serve(Resource(content, script: [[.holdHead]]), at: "/0")
            let task = Task { try await shop.downloader.downloadAll(requests(1, shop)) }
            _ = await shop.server.requests(at: "/0", reaching: 1)
            task.cancel()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
        }
    }
}
