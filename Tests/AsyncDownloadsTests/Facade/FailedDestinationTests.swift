import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Bytes of a resource that one destination can't receive.
@Suite(.endsWhenHung)
struct FailedDestinationTests {
    @Test func `rule 51: bytes are found again after they couldn't be continued at another destination`() async throws {
        try await TestEnvironment.with { environment async throws in
            let content = Content(seed: 3, length: 200_000)
            var resource = Resource(content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]])
            // The stated length would contradict the expected one.
            resource.framing = .chunked
            environment.server.serve(resource, at: "/one")
            let first = environment.downloader.start(environment.request("/one", to: "a"))
            try await first.progress(reaching: 100_000)
            first.cancel()
            // The bytes are found when the transfer has stored them.
            while !environment.downloader.liveTransfers.isEmpty { await Task.yield() }
            var request = environment.request("/one", to: "b")
            request.expectedByteCount = 1 << 60
            #expect(await environment.result(of: request).failure?.code == .diskFull)
            let log = await EventLog(of: environment.downloader.start(environment.request("/one", to: "c")))
            #expect(log.resumptions == [100_000])
            #expect(try environment.holds(content, at: "c"))
        }
    }
}
