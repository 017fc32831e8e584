import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Downloads into memory: limits, transfers that are shared with files of the same resource, and continuation.
@Suite(.endsWhenHung)
struct MemoryTests {
    private static let content = Content(seed: 12, length: 300_000)
    private static let all = Data(content.bytes(in: 0..<content.length))

    @Test(arguments: Engine.allCases, [0, 1, 300_000])
    func `a download into memory returns bytes and creates no file`(_ engine: Engine, _ length: Int64) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(Content(seed: 12, length: length), entityTag: "\"a\""), at: "/one")
            #expect(
                try await environment.downloader.data(from: environment.server.url("/one"))
                    == Self.all.prefix(Int(length)))
            #expect(try environment.leftovers == [])
            #expect(environment.bodies.byteCount == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `concurrent downloads of a resource into memory share one request`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let url = environment.server.url("/one")
            let downloads = (0..<100).map { _ in environment.downloader.start(DownloadRequest(from: url, to: .memory)) }
            _ = await environment.server.requests(at: "/one", reaching: 1)
            environment.server.release("/one")
            for download in downloads { #expect(try await download.file.data == Self.all) }
            #expect(environment.server.requests(at: "/one").count == 1)
        }
    }

    @Test(arguments: Engine.allCases, [true, false])
    func `a download to a file and one into memory share one request, in either order`(
        _ engine: Engine, _ isFileFirst: Bool
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            let requests = [
                environment.request("/one"), DownloadRequest(from: environment.server.url("/one"), to: .memory),
            ]
            let first = environment.downloader.start(requests[isFileFirst ? 0 : 1])
            try await first.progress(reaching: 100_000)
            let second = environment.downloader.start(requests[isFileFirst ? 1 : 0])
            #expect(second.isCoalesced)
            environment.server.release("/one")
            let files = [try await first.file, try await second.file]
            #expect(files.compactMap(\.data) == [Self.all])
            #expect(try environment.holds(Self.content))
            #expect(try environment.leftovers == ["file.bin"])
            #expect(environment.server.requests(at: "/one").count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a body over the limit is refused, whether its length is announced or not`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(Self.content)
            environment.server.serve(resource, at: "/announced")
            resource.framing = .chunked
            resource.ranges = .ignored
            environment.server.serve(resource, at: "/silent")
            resource.script = [[.endless]]
            environment.server.serve(resource, at: "/endless")
            for path in ["/announced", "/silent", "/endless"] {
                let error = await #expect(throws: DownloadError.self) {
                    try await environment.downloader.data(from: environment.server.url(path), maximumByteCount: 299_999)
                }
                #expect(error?.code == .bodyTooLarge, "\(path)")
            }
            let exact = try await environment.downloader.data(
                from: environment.server.url("/announced"), maximumByteCount: Self.content.length)
            #expect(exact == Self.all)
        }
    }

    @Test func `a request in memory without a limit has the downloader's, and a file has none`() async throws {
        try await TestEnvironment.with(configure: { $0.maximumDataByteCount = 299_999 }) { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.data(from: environment.server.url("/one"))
            }
            #expect(error?.code == .bodyTooLarge)
            #expect(
                try await environment.downloader.download(environment.request("/one")).byteCount == Self.content.length)
        }
    }

    @Test(arguments: Engine.allCases, [true, false])
    func `each download of a shared transfer has its own limit`(_ engine: Engine, _ isFileFirst: Bool) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            // The response has no length, so the limit is exceeded while the body is received.
            var resource = Resource(Self.content, script: [[.stall(after: 100_000)]])
            resource.framing = .chunked
            resource.ranges = .ignored
            environment.server.serve(resource, at: "/one")
            var small = DownloadRequest(from: environment.server.url("/one"), to: .memory)
            small.maximumByteCount = 150_000
            let requests = isFileFirst ? [environment.request("/one"), small] : [small, environment.request("/one")]
            let first = environment.downloader.start(requests[0])
            try await first.progress(reaching: 100_000)
            let second = environment.downloader.start(requests[1])
            environment.server.release("/one")
            let logs = [await EventLog(of: first), await EventLog(of: second)]
            #expect(logs[isFileFirst ? 0 : 1].file?.byteCount == Self.content.length)
            #expect(logs[isFileFirst ? 1 : 0].error?.code == .bodyTooLarge)
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests(at: "/one").count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a download continues from bytes in memory`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            try await environment.leave(DownloadRequest(from: environment.server.url("/one"), to: .memory), at: 100_000)
            #expect(environment.bodies.byteCount == 100_000)
            let log = await EventLog(
                of: environment.downloader.start(DownloadRequest(from: environment.server.url("/one"), to: .memory)))
            #expect(log.resumptions == [100_000])
            #expect(log.file?.data == Self.all)
            let requests = environment.server.requests(at: "/one")
            #expect(requests.map(offset(of:)) == [0, 100_000])
            #expect((requests.last?["If-Range"] ?? requests.last?["If-Match"]) == "\"a\"")
            #expect(environment.bodies.byteCount == 0)
        }
    }

    @Test(arguments: Engine.allCases)
    func `bytes in memory are discarded if the object has changed`(_ engine: Engine) async throws {
        let changed = Content(seed: 13, length: 200_000)
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(
                    Self.content, entityTag: "\"a\"",
                    script: [[.stall(after: 100_000)], [.replaceContent(changed, entityTag: "\"b\"")]]), at: "/one")
            try await environment.leave(DownloadRequest(from: environment.server.url("/one"), to: .memory), at: 100_000)
            let log = await EventLog(
                of: environment.downloader.start(DownloadRequest(from: environment.server.url("/one"), to: .memory)))
            #expect(log.restarts == [.contentChanged])
            #expect(log.file?.data == Data(changed.bytes(in: 0..<changed.length)))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a download to a file continues from the bytes in memory`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            try await environment.leave(DownloadRequest(from: environment.server.url("/one"), to: .memory), at: 100_000)
            let log = await EventLog(of: environment.downloader.start(environment.request("/one")))
            #expect(log.resumptions == [100_000])
            #expect(try environment.holds(Self.content))
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test func `a pause keeps the bytes in memory`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            let download = environment.downloader.start(
                DownloadRequest(from: environment.server.url("/one"), to: .memory))
            try await download.progress(reaching: 100_000)
            download.pause()
            for try await event in download.events { if case .paused(100_000) = event { break } }
            #expect(environment.bodies.byteCount == 100_000)
            let events = download.events
            download.resume()
            let log = await EventLog(events)
            #expect(log.resumptions == [100_000])
            #expect(log.file?.data == Self.all)
        }
    }

    @Test(arguments: [true, false])
    func `the digest of a body in memory is verified`(_ isRight: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
            var request = DownloadRequest(from: environment.server.url("/one"), to: .memory)
            request.checksum = isRight ? Self.content.sha256 : .sha256(String(repeating: "0", count: 64))
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.file?.data == (isRight ? Self.all : nil))
            #expect(log.error?.code == (isRight ? nil : .checksumMismatch))
            #expect(environment.bodies.byteCount == 0)
        }
    }
}

extension TestEnvironment {
    fileprivate var bodies: PartialBodyStore { downloader.configuration.partialBodies }
}
