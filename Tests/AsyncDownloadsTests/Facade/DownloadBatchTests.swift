import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Batches of downloads.
@Suite(.endsWhenHung)
struct DownloadBatchTests {
    private let content = Content(seed: 10, length: 100_000)

    private func requests(_ count: Int, _ environment: TestEnvironment) -> [DownloadRequest] {
        (0..<count).map { environment.request("/\($0)", to: "\($0)") }
    }

    @Test(arguments: Engine.allCases)
    func `one failure does not stop the other downloads`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            for number in 0..<20 where number != 7 { environment.server.serve(Resource(content), at: "/\(number)") }
            var outcomes: [Int: Result<DownloadedFile, DownloadError>] = [:]
            for try await outcome in environment.downloader.batch(requests(20, environment), limit: 3) {
                outcomes[outcome.index] = outcome.result
                #expect(outcome.request == environment.request("/\(outcome.index)", to: "\(outcome.index)"))
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
    func `no more downloads than the limit run at the same time`() async throws {
        try await TestEnvironment.with(configure: { $0.maximumConcurrentTransfers = 50 }) { environment async throws in
            for number in 0..<9 {
                environment.server.serve(Resource(content, script: [[.holdHead]]), at: "/\(number)")
            }
            let task = Task {
                for try await _ in environment.downloader.batch(requests(9, environment), limit: 3) {}
            }
            for number in 0..<9 {
                _ = await environment.server.requests(at: "/\(number)", reaching: 1)
                #expect(environment.downloader.callerCount <= 3)
                environment.server.release("/\(number)")
            }
            try await task.value
        }
    }

    @Test
    func `a canceled batch throws, and its bytes are kept`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 60_000)]]), at: "/0")
            let task = Task { for try await _ in environment.downloader.batch(requests(1, environment)) {} }
            while environment.downloader.liveTransfers.first?.withState({ $0.machine.bytes.count }) != 60_000 {
                await Task.yield()
            }
            task.cancel()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            _ = try await environment.downloader.download(environment.request("/0", to: "0"))
            #expect(environment.server.requests(at: "/0").map(offset(of:)) == [0, 60_000])
        }
    }

    @Test
    func `all or nothing: a failure cancels the other downloads and keeps their bytes`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 60_000)]]), at: "/0")
            environment.server.serve(Resource(content, script: [[.holdHead, .status(404)]]), at: "/1")
            let task = Task { try await environment.downloader.downloadAll(requests(2, environment)) }
            _ = await environment.server.requests(at: "/1", reaching: 1)
            while !environment.downloader.liveTransfers.contains(where: {
                $0.withState { $0.machine.bytes.count } == 60_000
            }) {
                await Task.yield()
            }
            environment.server.release("/1")
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.statusCode == 404)
            _ = try await environment.downloader.download(environment.request("/0", to: "0"))
            #expect(environment.server.requests(at: "/0").map(offset(of:)) == [0, 60_000])
        }
    }
}
