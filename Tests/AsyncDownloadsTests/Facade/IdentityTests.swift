internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Resources that are identified by a name of the caller's, regardless of their current URL.
@Suite(.endsWhenHung)
struct IdentityTests {
    private static let content = Content(seed: 74, length: 300_000)
    private static let cut: Int64 = 100_000

    private func request(
        _ environment: TestEnvironment, _ path: String, to name: String = "file.bin"
    ) -> DownloadRequest {
        var request = environment.request(path, to: name)
        request.identity = "film"
        return request
    }

    private func stalling(_ environment: TestEnvironment, at path: String) {
        environment.server.serve(
            Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.cut)]]), at: path)
    }

    @Test(arguments: Engine.allCases)
    func `rule 51: requests with one identity share a transfer, regardless of their URLs`(_ engine: Engine) async throws
    {
        try await TestEnvironment.with(engine) { environment async throws in
            stalling(environment, at: "/today")
            let first = environment.downloader.start(request(environment, "/today"))
            try await first.progress(reaching: Self.cut)
            let second = environment.downloader.start(request(environment, "/tomorrow", to: "second.bin"))
            #expect(second.isCoalesced)
            environment.server.release("/today")
            #expect(try await first.file.byteCount == Self.content.length)
            #expect(try await second.file.byteCount == Self.content.length)
            #expect(
                environment.server.requests(at: "/today").count == 1
                    && environment.server.requests(at: "/tomorrow").isEmpty)
        }
    }

    @Test func `identities, URLs, and other identities are different resources`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead], [.holdHead]]), at: "/one")
            var named = request(environment, "/one", to: "named")
            named.identity = environment.server.url("/one").absoluteString
            let first = environment.downloader.start(named)
            let plain = environment.downloader.start(environment.request("/one", to: "plain"))
            let other = environment.downloader.start(request(environment, "/one", to: "other"))
            #expect(!plain.isCoalesced && !other.isCoalesced)
            named.identity = ""
            #expect(environment.downloader.start(named).state == .failed)
            for download in [first, plain, other] { download.discard() }
        }
    }

    /// The validators that the later URL sends, regardless of the condition.
    static let claims: [(tag: String?, restarts: [RestartReason])] = [
        ("\"a\"", []), ("\"b\"", [.contentChanged]), (nil, [.contentChanged]),
    ]

    @Test(arguments: Engine.allCases, claims)
    func `a later URL continues the bytes of an earlier one if it has the same object`(
        _ engine: Engine, _ claim: (tag: String?, restarts: [RestartReason])
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            stalling(environment, at: "/today")
            try await environment.leave(request(environment, "/today"), at: Self.cut)
            var resource = Resource(Self.content, entityTag: claim.tag)
            resource.ifRange = .ignored
            resource.honorsIfMatch = false
            environment.server.serve(resource, at: "/tomorrow")
            let second = Downloader(configuration: environment.downloader.configuration)
            let log = await EventLog(of: second.start(request(environment, "/tomorrow")))
            #expect(log.restarts == claim.restarts)
            #expect(log.resumptions == (claim.restarts.isEmpty ? [Self.cut] : []))
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests(at: "/today").count == 1)
            await second.shutdown()
        }
    }

    @Test func `the identity is restored with the bytes`() async throws {
        try await TestEnvironment.with { environment async throws in
            stalling(environment, at: "/today")
            try await environment.leave(request(environment, "/today"), at: Self.cut)
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/tomorrow")
            let restored = try await environment.downloader.restore(in: environment.directory) { request in
                if request.identity == "film" { request.url = environment.server.url("/tomorrow") }
            }
            #expect(restored.map(\.request.identity) == ["film"])
            for download in restored { download.resume() }
            #expect(try await restored.first?.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/tomorrow").map(offset(of:)) == [Self.cut])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a paused transfer continues with the URL of a download that joins it`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            stalling(environment, at: "/today")
            let first = environment.downloader.start(request(environment, "/today"))
            try await first.progress(reaching: Self.cut)
            first.pause()
            for try await event in first.events { if case .paused = event { break } }
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/tomorrow")
            let second = environment.downloader.start(request(environment, "/tomorrow"))
            #expect(second.isCoalesced)
            #expect(try await second.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/tomorrow").map(offset(of:)) == [Self.cut])
            #expect(environment.server.requests(at: "/today").count == 1)
        }
    }

    @Test(arguments: Engine.allCases, [401, 403, 410])
    func `a refused URL is replaced by the URL of a later request`(_ engine: Engine, _ status: Int) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(Self.content, script: [[.holdHead, .status(status)]]), at: "/today")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/tomorrow")
            let first = environment.downloader.start(request(environment, "/today"))
            _ = await environment.server.requests(at: "/today", reaching: 1)
            let second = environment.downloader.start(request(environment, "/tomorrow"))
            environment.server.release("/today")
            #expect(try await first.file.byteCount == Self.content.length)
            #expect(try await second.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/tomorrow").count == 1)
        }
    }

    @Test func `a body in memory is continued from another URL only after a validator proves it`() async throws {
        for tag in ["\"a\"", nil] {
            try await TestEnvironment.with { environment async throws in
                stalling(environment, at: "/today")
                var request = DownloadRequest(from: environment.server.url("/today"), to: .memory)
                request.identity = "film"
                try await environment.leave(request, at: Self.cut)
                var resource = Resource(Self.content, entityTag: tag)
                resource.ifRange = .ignored
                resource.honorsIfMatch = false
                environment.server.serve(resource, at: "/tomorrow")
                request.url = environment.server.url("/tomorrow")
                let log = await EventLog(of: environment.downloader.start(request))
                #expect(log.restarts == (tag == nil ? [.contentChanged] : []))
                #expect(log.file?.data == Data(Self.content.bytes(in: 0..<Self.content.length)))
            }
        }
    }
}
