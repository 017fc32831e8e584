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
    func `rule 37: a 429 with Retry-After holds back all downloads from the host, and uses no retry`(
        _ engine: Engine
    ) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(
            engine, time: time,
            configure: {
                $0.maximumConcurrentTransfersPerHost = 1
                $0.retryPolicy.maximumRetries = 1
                // The clock is also moved while a response is on its way.
                $0.idleTimeout = .unlimited
            }
        ) { environment async throws in
            let refusals = [Step](repeating: [.retryAfter("30", status: 429)], count: 3)
            environment.server.serve(Resource(content, script: refusals), at: "/a")
            environment.server.serve(Resource(content), at: "/b")
            let first = environment.downloader.start(environment.request("/a", to: "a"))
            let second = environment.downloader.start(environment.request("/b", to: "b"))
            _ = await environment.server.requests(at: "/a", reaching: 1)
            while first.state != .retrying { await Task.yield() }
            time.advance(by: .seconds(29))
            #expect(second.state == .waiting)
            #expect(environment.server.requests().count == 1)
            // The state is visible before the timer of the retry is scheduled, so that one step may come too early.
            while environment.server.requests(at: "/a").count < 4 {
                // A retry whose delay has ended may still wait for the pace that was learned from the refusals.
                if first.state == .retrying || first.state == .waiting { time.advance(by: .seconds(40)) }
                await Task.yield()
            }
            let log = await EventLog(of: first)
            #expect(log.retries == [.httpStatus, .httpStatus, .httpStatus])
            #expect(log.file?.byteCount == content.length)
            // A pace that was learned from the refusals may delay the second download.
            while second.state == .waiting {
                time.advance(by: .seconds(40))
                await Task.yield()
            }
            #expect(try await second.file.byteCount == content.length)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a pace counts redirects, and holds back further requests to the host`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(
            engine, time: time,
            configure: { $0.requestPace = RequestPace(count: 2, period: .seconds(10), burst: 2) }
        ) { environment async throws in
            environment.server.serve(Resource(content, script: [[.redirect(location: "/target")]]), at: "/a")
            environment.server.serve(Resource(content), at: "/target")
            environment.server.serve(Resource(content), at: "/b")
            let redirected = environment.downloader.start(environment.request("/a", to: "a"))
            #expect(try await redirected.file.byteCount == content.length)
            let held = environment.downloader.start(environment.request("/b", to: "b"))
            #expect(held.state == .waiting)
            time.advance(by: .seconds(9))
            #expect(held.state == .waiting)
            #expect(environment.server.requests().count == 2)
            time.advance(by: .seconds(1))
            #expect(try await held.file.byteCount == content.length)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a redirect that exceeds the pace waits, and is followed afterwards`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(
            engine, time: time,
            configure: { $0.requestPace = RequestPace(count: 1, period: .seconds(10)) }
        ) { environment async throws in
            environment.server.serve(Resource(content, script: [[.redirect(location: "/target")]]), at: "/a")
            environment.server.serve(Resource(content), at: "/target")
            let download = environment.downloader.start(environment.request("/a", to: "a"))
            _ = await environment.server.requests(at: "/a", reaching: 1)
            while download.state != .waiting { await Task.yield() }
            #expect(environment.server.requests(at: "/target").isEmpty)
            time.advance(by: .seconds(10))
            #expect(try await download.file.byteCount == content.length)
            #expect(environment.server.requests(at: "/a").count == 1)
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
