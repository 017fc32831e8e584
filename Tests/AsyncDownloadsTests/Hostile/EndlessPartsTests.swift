internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// A server that answers every request with one more byte.
@Suite("Endless short parts", .endsWhenHung)
struct EndlessPartsTests {
    private let content = Content(seed: 31, length: 1 << 20)

    /// A large file of which the first answer brings one byte, and so does each later one.
    private var resource: Resource {
        var resource = Resource(content, entityTag: "\"a\"", script: [[.cut(after: 1)], [.shortRange(1)]])
        resource.repeatsLastStep = true
        return resource
    }

    @Test(
        "boundary 14: a server that sends a byte at a time is asked a few times at once, and then as the clock allows",
        arguments: Engine.allCases)
    func paced(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time, configure: { $0.idleTimeout = nil }) {
            environment async throws in
            environment.server.serve(resource, at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            // One that was cut, and eight that were short.
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
            // What is on disk is continued as ever.
            environment.server.serve(Resource(content, entityTag: "\"a\""), at: "/one")
            download.resume()
            let log = await EventLog(of: download)
            #expect(log.retries == [.connectionLost])
            #expect(try environment.holds(content))
        }
    }
}
