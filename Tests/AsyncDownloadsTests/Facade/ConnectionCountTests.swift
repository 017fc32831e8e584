import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Downloads of one file over several connections.
@Suite(.endsWhenHung)
struct ConnectionCountTests {
    private static let mebibyte: Int64 = 1 << 20
    private let content = Content(seed: 7, length: 16 * mebibyte)

    private func request(_ environment: TestEnvironment) -> DownloadRequest {
        var request = environment.request("/one")
        request.connectionCount = 4
        return request
    }

    @Test(arguments: Engine.allCases)
    func `rule 8: further connections bring what the first one doesn't`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 2 * Self.mebibyte)]]), at: "/one")
            let download = environment.downloader.start(request(environment))
            _ = await environment.server.requests(at: "/one", reaching: 4)
            environment.server.release("/one")
            let log = await EventLog(of: download)
            #expect(log.file?.byteCount == content.length)
            #expect(log.retries == [] && log.restarts == [] && log.resumptions == [])
            #expect(try environment.holds(content))
            let requests = environment.server.requests(at: "/one")
            #expect(requests.count >= 4)
            #expect(requests.dropFirst().allSatisfy { $0["If-Match"] == "\"a\"" && $0["If-Range"] == nil })
            #expect(requests.dropFirst().allSatisfy { $0["Range"]?.hasSuffix("-") == false })
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 54: a paused download keeps the bytes of every connection`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 3 * Self.mebibyte)]]), at: "/one")
            let download = environment.downloader.start(request(environment))
            // All but the rest of the first part, which is too short to be divided.
            try await download.progress(reaching: content.length - 2 * Self.mebibyte)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            let requestCount = environment.server.requests(at: "/one").count
            download.resume()
            let file = try await download.file
            #expect(try environment.holds(content))
            let first = environment.server.requests(at: "/one")[requestCount]
            #expect(offset(of: first) >= 2 * Self.mebibyte, "the bytes of the first connection are kept")
            // URLSession has read some bytes that it had not delivered; the other bytes are four fifths of the file.
            #expect(file.fetchedByteCount < content.length * 3 / 2, "those of the others are kept")
        }
    }

    @Test(arguments: Engine.allCases, [Resource.RangeSupport.ignored, .announcedOnly, .refused])
    func `rule 23: a server without ranges delivers the file over one connection`(
        _ engine: Engine, _ ranges: Resource.RangeSupport
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(content, entityTag: "\"a\"")
            resource.ranges = ranges
            environment.server.serve(resource, at: "/one")
            let log = await EventLog(of: environment.downloader.start(request(environment)))
            #expect(log.retries == [] && log.restarts == [])
            #expect(try environment.holds(content))
        }
    }

    /// The engines and the statuses of refusals: each status with one engine, and 503 with all of them.
    static let refusals: [(Engine, Int)] =
        [403, 404, 429].map { (Engine.preferred, $0) } + Engine.allCases.map { ($0, 503) }

    @Test(arguments: refusals)
    func `rule 58: refused connections neither fail the file nor use up a retry`(
        _ engine: Engine, _ status: Int
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            // An engine with windows sends more requests in any case; the first of them is refused as well.
            let script: [Step] =
                engine == .urlSession ? [[], [.status(status)]] : [[], [.status(status)], [.status(status)]]
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: script), at: "/one")
            let log = await EventLog(of: environment.downloader.start(request(environment)))
            #expect(log.retries == [] && log.restarts == [])
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: [0, 17, -1])
    func `a number of connections that is not in 1 to 16 is refused`(count: Int) async throws {
        try await TestEnvironment.with { environment async throws in
            var request = environment.request("/one")
            request.connectionCount = count
            guard case .failure(let error) = await environment.result(of: request) else {
                Issue.record("the request was accepted")
                return
            }
            #expect(error.code == .invalidRequest)
        }
    }
}
