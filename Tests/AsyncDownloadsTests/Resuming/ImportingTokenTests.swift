internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of downloads that continue in another process or on another machine.
@Suite(.endsWhenHung)
struct ImportingTokenTests {
    private static let content = Content(seed: 73, length: 300_000)
    private static let count: Int64 = 100_000

    /// Pauses a download after the first bytes, and returns its token as another process decodes it.
    private func token(
        _ environment: TestEnvironment, prepare: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> ResumeToken {
        environment.server.serve(
            Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.count)]]), at: "/one")
        var request = environment.request("/one")
        prepare(&request)
        let download = environment.downloader.start(request)
        try await download.progress(reaching: Self.count)
        download.pause()
        for try await event in download.events { if case .paused = event { break } }
        let token = try #require(try await download.resumeToken)
        download.cancel()
        while !environment.downloader.liveTransfers.isEmpty { await Task.yield() }
        return try JSONDecoder().decode(ResumeToken.self, from: JSONEncoder().encode(token))
    }

    @Test(arguments: Engine.allCases)
    func `another process continues a token's request if all files are in place`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let token = try await token(environment) { request in
                request.headers = ["Accept": "video/mp4", "Authorization": "Bearer s3cret"]
                request.checksum = Self.content.sha256
                request.identity = "film"
            }
            #expect(token.receivedRanges == [0..<Self.count])
            #expect(token.totalByteCount == Self.content.length)
            #expect(
                token.validator == "\"a\"" && token.url == environment.server.url("/one") && token.identity == "film")
            #expect(token.headers == ["Accept": "video/mp4"])
            let second = Downloader(configuration: environment.downloader.configuration)
            var request = token.request(into: environment.directory)
            #expect(request.destination == .file(environment.directory.appending(path: "file.bin")))
            #expect(request.checksum == Self.content.sha256)
            request.headers["Authorization"] = "Bearer s3cret"
            let log = await EventLog(of: second.start(request))
            #expect(log.resumptions == [Self.count] && log.restarts == [])
            #expect(try environment.holds(Self.content))
            await second.shutdown()
        }
    }

    @Test(arguments: Engine.allCases, ["/one", "/two"])
    func `another machine continues from the partial file alone`(_ engine: Engine, _ path: String) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let token = try await token(environment)
            let received = environment.directory.appending(path: "received", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: received, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: token.partialFile(relativeTo: environment.directory), to: token.partialFile(relativeTo: received))
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/two")
            let second = Downloader(configuration: environment.downloader.configuration)
            var request = token.request(into: environment.directory.appending(path: "new", directoryHint: .isDirectory))
            request.url = environment.server.url(path)
            let download = try await second.adopt(token, as: request, partialFileIn: received)
            let log = await EventLog(of: download)
            #expect(log.resumptions == [Self.count] && log.restarts == [])
            #expect(try environment.holds(Self.content, at: "new/file.bin"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: received.path) == [])
            await second.shutdown()
        }
    }

    @Test func `a partial file that was copied to its final directory is continued`() async throws {
        try await TestEnvironment.with { environment async throws in
            let token = try await token(environment)
            let there = environment.directory.appending(path: "there", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: there, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: token.partialFile(relativeTo: environment.directory), to: token.partialFile(relativeTo: there))
            // With a lock file that was copied too, opening the partial looks for leftovers.
            let lock = try #require(try environment.leftovers.first { $0.hasSuffix(".lock") })
            try FileManager.default.copyItem(
                at: environment.directory.appending(path: lock), to: there.appending(path: lock))
            let second = Downloader(configuration: environment.downloader.configuration)
            let download = try await second.adopt(
                token, to: there.appending(path: "file.bin"), partialFileIn: there)
            #expect(await EventLog(of: download).resumptions == [Self.count])
            #expect(try FileManager.default.contentsOfDirectory(atPath: there.path) == ["file.bin"])
            #expect(try environment.holds(Self.content, at: "there/file.bin"))
            await second.shutdown()
        }
    }

    @Test(arguments: ["short", "missing", "link"])
    func `a partial file that does not match its token is refused`(_ kind: String) async throws {
        try await TestEnvironment.with { environment async throws in
            let token = try ResumeToken(
                url: environment.server.url("/one"), validator: "\"a\"", receivedRanges: [0..<Self.count],
                destinationName: "file.bin", partialName: "bytes")
            let file = environment.directory.appending(path: "bytes")
            let other = environment.directory.appending(path: "other")
            switch kind {
            case "short": try Data(count: Int(Self.count) - 1).write(to: file)
            case "link":
                try Data(count: Int(Self.count)).write(to: other)
                try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)
            default: break
            }
            let before = try environment.leftovers
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.adopt(
                    token, to: environment.directory.appending(path: "file.bin"), partialFileIn: environment.directory)
            }
            #expect(error?.code == .resumeDataUnusable)
            #expect(try environment.leftovers == before)
        }
    }

    @Test(arguments: [true, false])
    func `complete bytes are used after the server has proven the last one`(isElsewhere: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/two")
            let length = Self.content.length
            try Data(Self.content.bytes(in: 0..<length)).write(to: environment.directory.appending(path: "bytes"))
            let token = try ResumeToken(
                url: environment.server.url(isElsewhere ? "/one" : "/two"), validator: "\"a\"", totalByteCount: length,
                receivedRanges: [0..<length], partialName: "bytes")
            let download = try await environment.downloader.adopt(
                token, as: environment.request("/two"), partialFileIn: environment.directory)
            #expect(try await download.file.byteCount == length)
            #expect(environment.server.requests(at: "/two").map(offset(of:)) == [length - 1])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `a download without bytes on disk has no token`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            #expect(try await download.resumeToken == nil)
            _ = await environment.server.requests(at: "/one", reaching: 1)
            environment.server.release("/one")
            _ = try await download.file
            #expect(try await download.resumeToken == nil)
            #expect(
                try await environment.downloader.start(DownloadRequest(from: URL(fileURLWithPath: "/"), to: .memory))
                    .resumeToken
                    == nil)
        }
    }
}
