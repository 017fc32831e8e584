import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// The number of connections for each host (rule 58).
///
/// A file has one connection at a time, so only the rule's limit applies. Tests of extra connections that are refused,
/// or that get a 429 response, belong here when a file can have several connections.
@Suite(.endsWhenHung)
struct FanOutTests {
    private let content = Content(seed: 13, length: 1000)

    @Test(arguments: Engine.allCases)
    func `rule 58: one host gets no more concurrent exchanges than the limit`(_ engine: Engine) async throws {
        // The clock does not move, so no exchange exceeds its idle timeout.
        try await TestEnvironment.with(
            engine, time: ManualTimeSource(),
            configure: {
                $0.maximumConcurrentTransfers = 8
                $0.maximumConcurrentTransfersPerHost = 2
            }
        ) { environment async throws in
            let paths = (0..<6).map { "/\($0)" }
            for path in paths { environment.server.serve(Resource(content, script: [[.holdHead]]), at: path) }
            let downloads = paths.map {
                environment.downloader.start(environment.request($0, to: String($0.dropFirst())))
            }
            // Permits are granted before `start` returns, so all other downloads are known to wait.
            #expect(downloads.map { $0.state == .waiting } == [false, false, true, true, true, true])
            for (index, path) in paths.enumerated() {
                _ = await environment.server.requests(at: path, reaching: 1)
                #expect(environment.server.requests().count <= index + 2)
                environment.server.release(path)
                _ = try await downloads[index].file
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 58: a host at its limit does not delay another host`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine, configure: { $0.maximumConcurrentTransfersPerHost = 1 }) {
            environment async throws in
            for path in ["/a", "/b"] { environment.server.serve(Resource(content, script: [[.holdHead]]), at: path) }
            let first = environment.downloader.start(environment.request("/a", to: "a"))
            let second = environment.downloader.start(environment.request("/b", to: "b"))
            let elsewhere = try #require(URL(string: "http://localhost:\(environment.server.port)/c"))
            environment.server.serve(Resource(content), at: "/c")
            let third = environment.downloader.start(
                DownloadRequest(from: elsewhere, to: environment.directory.appending(path: "c")))
            #expect(try await third.file.byteCount == content.length)
            #expect(second.state == .waiting)
            _ = await environment.server.requests(at: "/a", reaching: 1)
            environment.server.release("/a")
            _ = try await first.file
            _ = await environment.server.requests(at: "/b", reaching: 1)
            environment.server.release("/b")
            _ = try await second.file
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 58: a host that responds with 429 gets delayed requests, and the file completes`(
        _ engine: Engine
    ) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            environment.server.serve(Resource(content, script: [[.retryAfter("30", status: 429)]]), at: "/a")
            let download = environment.downloader.start(environment.request("/a", to: "a"))
            await time.timer(ofAtLeast: .seconds(30))
            #expect(environment.server.requests(at: "/a").count == 1)
            time.advance(by: .seconds(30))
            #expect(try await download.file.byteCount == content.length)
        }
    }
}
