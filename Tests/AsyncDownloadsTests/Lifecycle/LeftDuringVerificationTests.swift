import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// A subscriber that leaves while the file is verified, which then starts anew because of a wrong digest (rule 35).
@Suite(.endsWhenHung)
struct LeftDuringVerificationTests {
    private static let (first, second) = (Content(seed: 1, length: 300_000), Content(seed: 2, length: 300_000))
    private static let cut: Int64 = 100_000

    /// Returns a resource of two contents, whose complete body after the restart is held back.
    private static var mixed: Resource {
        let change = Fault.replaceContent(second, entityTag: "\"v2\"")
        return Resource(
            first, entityTag: "\"v1\"",
            // The second request has a condition, and the third one has none.
            script: [[.cut(after: cut)], [change], [change, .stall(after: cut)], [change, .stall(after: cut)]])
    }

    @Test func `its path is free for another download`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.mixed, at: "/one")
            environment.server.serve(Resource(Self.first, entityTag: "\"1\""), at: "/two")
            var requests = ["left", "stays"].map { environment.request("/one", to: $0) }
            for index in requests.indices {
                requests[index].checksum = Self.second.sha256
                requests[index].contentChangePolicy = .verify
            }
            let (leaving, staying) = (
                environment.downloader.start(requests[0]), environment.downloader.start(requests[1])
            )
            try await staying.progress(reaching: 2 * Self.cut)
            let transfer = try #require(environment.downloader.liveTransfers.first).activate()
            transfer.queue.suspend()
            environment.server.release("/one")
            while transfer.withState({ $0.machine.phase != .finishing }) { await Task.yield() }
            leaving.cancel()
            transfer.queue.resume()
            _ = await environment.server.requests(at: "/one", reaching: 4)
            // The other download has not ended.
            let file = try await environment.downloader.download(environment.request("/two", to: "left"))
            #expect(file.byteCount == Self.first.length)
            environment.server.release("/one")
            _ = try await staying.file
            #expect(try environment.holds(Self.second, at: "stays") && environment.holds(Self.first, at: "left"))
        }
    }
}
