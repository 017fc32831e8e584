internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Downloads that are handed to another process, or another machine.
@Suite(.endsWhenHung)
struct TokenAdoptingTests {
    private static let content = Content(seed: 73, length: 300_000)
    private static let count: Int64 = 100_000

    /// Pauses a download of the first bytes, and answers its token as the other side reads it.
    private func token(
        _ shop: Workshop, prepare: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> ResumeToken {
        shop.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.count)]]), at: "/one")
        var request = shop.request("/one")
        prepare(&request)
        let download = shop.downloader.start(request)
        try await download.progress(reaching: Self.count)
        download.pause()
        for try await event in download.events { if case .paused = event { break } }
        let token = try #require(try await download.resumeToken)
        download.cancel()
        while !shop.downloader.liveTransfers.isEmpty { await Task.yield() }
        return try JSONDecoder().decode(ResumeToken.self, from: JSONEncoder().encode(token))
    }

    @Test(arguments: Engine.allCases)
    func `another process goes on with a token's request where all files are in place`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            let token = try await token(shop) { request in
                request.headers = ["Accept": "video/mp4", "Authorization": "Bearer s3cret"]
                request.checksum = Self.content.sha256
                request.identity = "film"
            }
            #expect(token.receivedRanges == [0..<Self.count])
            #expect(token.totalByteCount == Self.content.length)
            #expect(token.validator == "\"a\"" && token.url == shop.server.url("/one") && token.identity == "film")
            #expect(token.headers == ["Accept": "video/mp4"])
            let second = Downloader(configuration: shop.downloader.configuration)
            var request = token.request(into: shop.directory)
            #expect(request.destination == .file(shop.directory.appending(path: "file.bin")))
            #expect(request.checksum == Self.content.sha256)
            request.headers["Authorization"] = "Bearer s3cret"
            let story = await Story(of: second.start(request))
            #expect(story.resumptions == [Self.count] && story.restarts == [])
            #expect(try shop.holds(Self.content))
            await second.shutdown()
        }
    }

    @Test(arguments: Engine.allCases, ["/one", "/two"])
    func `another machine goes on from the partial file alone`(_ engine: Engine, _ path: String) async throws {
        try await Workshop.with(engine) { shop async throws in
            let token = try await token(shop)
            let received = shop.directory.appending(path: "received", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: received, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: token.partialFile(relativeTo: shop.directory), to: token.partialFile(relativeTo: received))
            shop.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/two")
            let second = Downloader(configuration: shop.downloader.configuration)
            var request = token.request(into: shop.directory.appending(path: "new", directoryHint: .isDirectory))
            request.url = shop.server.url(path)
            let download = try await second.adopt(token, as: request, partialFileIn: received)
            let story = await Story(of: download)
            #expect(story.resumptions == [Self.count] && story.restarts == [])
            #expect(try shop.holds(Self.content, at: "new/file.bin"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: received.path) == [])
            await second.shutdown()
        }
    }

    @Test func `a partial file that was copied to its very place is gone on from`() async throws {
        try await Workshop.with { shop async throws in
            let token = try await token(shop)
            let there = shop.directory.appending(path: "there", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: there, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: token.partialFile(relativeTo: shop.directory), to: token.partialFile(relativeTo: there))
            // A lock file that was copied, too, makes the opening look for strays.
            let lock = try #require(try shop.leftovers.first { $0.hasSuffix(".lock") })
            try FileManager.default.copyItem(
                at: shop.directory.appending(path: lock), to: there.appending(path: lock))
            let second = Downloader(configuration: shop.downloader.configuration)
            let download = try await second.adopt(
                token, to: there.appending(path: "file.bin"), partialFileIn: there)
            #expect(await Story(of: download).resumptions == [Self.count])
            #expect(try FileManager.default.contentsOfDirectory(atPath: there.path) == ["file.bin"])
            #expect(try shop.holds(Self.content, at: "there/file.bin"))
            await second.shutdown()
        }
    }

    @Test(arguments: ["short", "missing", "link"])
    func `a partial file that cannot be what the token says is refused`(_ kind: String) async throws {
        try await Workshop.with { shop async throws in
            let token = try ResumeToken(
                url: shop.server.url("/one"), validator: "\"a\"", receivedRanges: [0..<Self.count],
                destinationName: "file.bin", partialName: "bytes")
            let file = shop.directory.appending(path: "bytes")
            let other = shop.directory.appending(path: "other")
            switch kind {
            case "short": try Data(count: Int(Self.count) - 1).write(to: file)
            case "link":
                try Data(count: Int(Self.count)).write(to: other)
                try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)
            default: break
            }
            let before = try shop.leftovers
            let error = await #expect(throws: DownloadError.self) {
                try await shop.downloader.adopt(
                    token, to: shop.directory.appending(path: "file.bin"), partialFileIn: shop.directory)
            }
            #expect(error?.code == .resumeDataUnusable)
            #expect(try shop.leftovers == before)
        }
    }

    @Test(arguments: [true, false])
    func `bytes that are all there are used after the server has proven the last one`(isElsewhere: Bool) async throws {
        try await Workshop.with { shop async throws in
            shop.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/two")
            let length = Self.content.length
            try Data(Self.content.bytes(in: 0..<length)).write(to: shop.directory.appending(path: "bytes"))
            let token = try ResumeToken(
                url: shop.server.url(isElsewhere ? "/one" : "/two"), validator: "\"a\"", totalByteCount: length,
                receivedRanges: [0..<length], partialName: "bytes")
            let download = try await shop.downloader.adopt(
                token, as: shop.request("/two"), partialFileIn: shop.directory)
            #expect(try await download.file.byteCount == length)
            #expect(shop.server.requests(at: "/two").map(offset(of:)) == [length - 1])
            #expect(try shop.holds(Self.content))
        }
    }

    @Test func `there is no token where nothing is on disk`() async throws {
        try await Workshop.with { shop async throws in
            shop.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let download = shop.downloader.start(shop.request("/one"))
            #expect(try await download.resumeToken == nil)
            _ = await shop.server.requests(at: "/one", reaching: 1)
            shop.server.release("/one")
            _ = try await download.file
            #expect(try await download.resumeToken == nil)
            #expect(
                try await shop.downloader.start(DownloadRequest(from: URL(fileURLWithPath: "/"))).resumeToken == nil)
        }
    }
}
