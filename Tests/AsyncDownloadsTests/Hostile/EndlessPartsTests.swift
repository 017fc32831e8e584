internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of a server that sends one byte in each response.
@Suite("Endless short parts", .endsWhenHung)
struct EndlessPartsTests {
    private let content = Content(seed: 31, length: 1 << 20)

    /// A large file whose responses contain one byte each.
    private var resource: Resource {
        var resource = Resource(content, entityTag: "\"a\"", script: [[.cut(after: 1)], [.shortRange(1)]])
        resource.repeatsLastStep = true
        return resource
    }

    @Test(arguments: Engine.allCases)
    func `boundary 14: requests to a server that sends single bytes are soon delayed`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time, configure: { $0.idleTimeout = .unlimited }) {
            environment async throws in
            environment.server.serve(resource, at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            // One truncated response and eight short ones.
            _ = await environment.server.requests(at: "/one", reaching: 9)
            while !time.delays.contains(.milliseconds(100)) { await Task.yield() }
            while !time.delays.contains(.milliseconds(200)) {
                time.advance(by: .milliseconds(100))
                for _ in 0..<1000 { await Task.yield() }
                if environment.server.requests(at: "/one").count > 9 { break }
            }
            while !time.delays.contains(.milliseconds(200)) { await Task.yield() }
            #expect(environment.server.requests(at: "/one").count == 10)
            #expect(download.state == .downloading)
            download.pause()
            for await state in download.states where state == .paused { break }
            #expect(environment.server.requests(at: "/one").count == 10)
            // The bytes on disk are resumed as usual.
            environment.server.serve(Resource(content, entityTag: "\"a\""), at: "/one")
            download.resume()
            let log = await EventLog(of: download)
            #expect(log.retries == [.connectionLost])
            #expect(try environment.holds(content))
        }
    }
}
