import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the length that a request expects.
@Suite(.endsWhenHung)
struct ExpectedByteCountTests {
    private static let content = Content(seed: 93, length: 300_000)

    private func request(_ environment: TestEnvironment, _ expected: Int64) -> DownloadRequest {
        var request = environment.request("/a")
        request.expectedByteCount = expected
        return request
    }

    private func serve(_ environment: TestEnvironment, _ framing: Resource.Framing = .contentLength) {
        var resource = Resource(Self.content, entityTag: "\"v1\"")
        resource.framing = framing
        environment.server.serve(resource, at: "/a")
    }

    @Test(arguments: Engine.allCases, Resource.Framing.allCases)
    func `rule 66: a file of another length is refused, and one of this length is accepted`(
        _ engine: Engine, _ framing: Resource.Framing
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment, framing)
            for expected in [0, Self.content.length - 1, Self.content.length + 1] {
                let error = await environment.result(of: request(environment, expected)).failure
                #expect(error?.code == .unexpectedByteCount && error?.isRetryable == false)
                #expect(error?.retainedByteCount == 0)
                // The transfer removes its files after the download has ended.
                while try !environment.leftovers.isEmpty { await Task.yield() }
            }
            #expect(environment.server.requests(at: "/a").count == 3)
            _ = try await environment.downloader.download(request(environment, Self.content.length))
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `rule 66: a file of another length at the destination is not used again`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment)
            _ = try await environment.downloader.download(environment.request("/a"))
            let longer = Content(seed: 94, length: 400_000)
            environment.server.serve(Resource(longer, entityTag: "\"v2\""), at: "/a")
            #expect(try await environment.downloader.download(request(environment, longer.length)).isReused == false)
            #expect(try environment.holds(longer))
        }
    }

    @Test func `progress has the expected length before the server has stated one`() async throws {
        try await TestEnvironment.with { environment async throws in
            var resource = Resource(Self.content, script: [[.stall(after: 100_000)]])
            resource.framing = .chunked
            environment.server.serve(resource, at: "/a")
            let download = environment.downloader.start(request(environment, Self.content.length))
            try await download.progress(reaching: 100_000)
            #expect(download.progress.expectedByteCount == Self.content.length)
            environment.server.release("/a")
            _ = try await download.file
        }
    }

    @Test func `rule 44: the space for the expected length is checked before the request`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment)
            let error = await environment.result(of: request(environment, 1 << 60)).failure
            #expect(error?.code == .diskFull)
            #expect(environment.server.requests(at: "/a").isEmpty)
            #expect(try environment.leftovers == [])
        }
    }
}
