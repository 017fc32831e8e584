import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Nodes of a content delivery network that have different entity tags (rule 35).
@Suite(.endsWhenHung)
struct ContentChangePolicyTests {
    private static let content = Content(seed: 1, length: 300_000)
    private static let other = Content(seed: 2, length: 300_000)
    private static let cut: Int64 = 100_000

    /// Returns a resource that is cut off, and that another node serves afterward.
    private static func moving(to content: Content, _ rest: Step...) -> Resource {
        var script: [Step] = [[.cut(after: cut)], [.replaceContent(content, entityTag: "\"v2\"")]]
        script += rest
        return Resource(Self.content, entityTag: "\"v1\"", script: script)
    }

    private static func request(_ environment: TestEnvironment, _ checksum: Checksum?) -> DownloadRequest {
        var request = environment.request("/one")
        request.checksum = checksum
        request.contentChangePolicy = .verify
        return request
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: with a digest, bytes of another node are continued`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.moving(to: Self.content), at: "/one")
            let log = await EventLog(of: environment.downloader.start(Self.request(environment, Self.content.sha256)))
            #expect(log.error == nil)
            #expect(log.restarts == [])
            #expect(log.file?.fetchedByteCount == Self.content.length)
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, Self.cut, Self.cut])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: with a digest and an identity, a mirror continues the bytes of another one`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: Self.cut)]]), at: "/one")
            environment.server.serve(Resource(Self.content, entityTag: "\"b\""), at: "/two")
            var request = Self.request(environment, Self.content.sha256)
            request.identity = "film-4711"
            request.retryPolicy = .never
            let first = await EventLog(of: environment.downloader.start(request))
            #expect(first.error?.retainedByteCount == Self.cut)
            request.url = environment.server.url("/two")
            let second = await EventLog(of: environment.downloader.start(request))
            #expect(second.error == nil && second.restarts == [])
            #expect(Set(environment.server.requests(at: "/two").map(offset(of:))) == [Self.cut])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: the policy can be set for the downloader`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine, configure: { $0.contentChangePolicy = .verify }) {
            environment async throws in
            environment.server.serve(Self.moving(to: Self.content), at: "/one")
            var request = environment.request("/one")
            request.checksum = Self.content.sha256
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.restarts == [])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: a wrong digest restarts the download once`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.moving(to: Self.other), at: "/one")
            let log = await EventLog(of: environment.downloader.start(Self.request(environment, Self.other.sha256)))
            #expect(log.error == nil)
            #expect(log.restarts == [.digestMismatch])
            #expect(try environment.holds(Self.other))
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: a digest that is wrong again is an error`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.moving(to: Self.other), at: "/one")
            let wrong = Checksum.sha256(String(repeating: "0", count: 64))
            let log = await EventLog(of: environment.downloader.start(Self.request(environment, wrong)))
            #expect(log.restarts == [.digestMismatch])
            #expect(log.error?.code == .checksumMismatch)
            #expect(try environment.leftovers == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: a download without a digest never gets bytes that the digest of another disproves`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.moving(to: Self.other, .plain, [.holdHead]), at: "/one")
            let verifying = environment.downloader.start(Self.request(environment, Self.other.sha256))
            let trusting = environment.downloader.start(environment.request("/one", to: "other.bin"))
            _ = await environment.server.requests(at: "/one", reaching: 4)
            #expect(try environment.leftovers.filter { !$0.hasPrefix(".") } == [])
            environment.server.release("/one")
            _ = try await (verifying.file, trusting.file)
            #expect(try environment.holds(Self.other))
            #expect(try environment.holds(Self.other, at: "other.bin"))
        }
    }

    /// Keeps 150,000 bytes on disk, a third of them from another node, as a process does that exits in order.
    private static func keepBytes(
        _ environment: TestEnvironment, movingTo content: Content, _ checksum: Checksum
    ) async throws {
        environment.server.serve(moving(to: content, [.stall(after: 50_000)]), at: "/one")
        let download = environment.downloader.start(request(environment, checksum))
        for try await event in download.events {
            if case .progress(let progress) = event, progress.receivedByteCount >= 150_000 { break }
        }
        await environment.downloader.shutdown()
    }

    private static func nextProcess(_ environment: TestEnvironment, _ engine: Engine) -> Downloader {
        var configuration = environment.downloader.configuration
        configuration.transport = engine.choice
        return Downloader(configuration: configuration)
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: unverified bytes are not used without a digest`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            try await Self.keepBytes(environment, movingTo: Self.other, Self.other.sha256)
            let next = Self.nextProcess(environment, engine)
            let log = await EventLog(of: next.start(environment.request("/one")))
            #expect(
                log.restarts == [.contentChanged, .contentChanged],
                "the unverified bytes are discarded, then the others")
            #expect(log.error == nil)
            #expect(try environment.holds(Self.other))
            await next.shutdown()
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 35: unverified bytes are used by a later process that has the digest`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            try await Self.keepBytes(environment, movingTo: Self.content, Self.content.sha256)
            let next = Self.nextProcess(environment, engine)
            let log = await EventLog(of: next.start(Self.request(environment, Self.content.sha256)))
            #expect(log.restarts == [])
            #expect(log.file?.fetchedByteCount == 150_000)
            #expect(try environment.holds(Self.content))
            await next.shutdown()
        }
    }
}
