import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Tests that run the examples of the article "When the URL changes" without changes.
@Suite(.endsWhenHung)
struct ChangingTheURLTests {
    private static let content = Content(seed: 75, length: 200_000)
    private static let cut: Int64 = 80_000

    /// The app's own server in the examples.
    private struct Service: Sendable {
        let server: LoopbackServer

        func sign(_ path: String) async throws -> URL { server.url("/fresh") }
        func url(of name: String) -> URL { server.url("/\(name)") }
    }

    private func serve(_ environment: TestEnvironment, _ path: String, stalling: Bool = false) {
        let script: [Step] = stalling ? [[.stall(after: Self.cut)]] : []
        environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: script), at: path)
    }

    @Test func `a fresh URL is requested`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, script: [[.status(403)]]), at: "/signed")
            serve(environment, "/fresh")
            let (downloader, service) = (environment.downloader, Service(server: environment.server))
            let (signedURL, destination) = (
                environment.server.url("/signed"), environment.directory.appending(path: "file.bin")
            )
            let expiration = Date.distantFuture
            var request = DownloadRequest(from: signedURL, to: destination)
            request.urlExpiration = expiration
            request.refreshURL = URLRefresh { context in
                FreshURL(try await service.sign(context.url.path))
            }
            let file = try await downloader.download(request)
            #expect(file.finalURL == environment.server.url("/fresh"))
        }
    }

    @Test func `a URL is replaced, and an identity identifies the resource`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, "/today", stalling: true)
            serve(environment, "/film-4711")
            let (downloader, catalogue) = (environment.downloader, Service(server: environment.server))
            let (todaysURL, mirror) = (environment.server.url("/today"), environment.server.url("/film-4711"))
            let destination = environment.directory.appending(path: "file.bin")
            var request = DownloadRequest(from: todaysURL, to: destination)
            request.identity = "film-4711"
            try await environment.leave(request, at: Self.cut)
            let directory = environment.directory
            let downloads = try await downloader.restore(in: directory) { request in
                if let name = request.identity { request.url = catalogue.url(of: name) }
            }
            let download = try #require(downloads.first)
            try download.replaceURL(with: mirror)
            download.resume()
            _ = try await download.file
            #expect(environment.server.requests(at: "/film-4711").map(offset(of:)) == [Self.cut])
        }
    }

    @Test func `a download of URLSession continues`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, "/today")
            let (downloader, directory) = (environment.downloader, environment.temporaryDirectory)
            let (todaysURL, destination) = (
                environment.server.url("/today"), environment.directory.appending(path: "file.bin")
            )
            let resumeData = try environment.paused(Self.content, Self.cut, of: "/yesterday")
            let request = DownloadRequest(from: todaysURL, to: destination)
            let download = try await downloader.adopt(resumeData, as: request, temporaryFileIn: directory)
            _ = try await download.file
            #expect(environment.server.requests(at: "/today").map(offset(of:)) == [Self.cut])
        }
    }

    @Test func `a download continues in another downloader`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, "/one", stalling: true)
            let first = environment.downloader.start(environment.request("/one"))
            try await first.progress(reaching: Self.cut)
            first.pause()
            for try await event in first.events { if case .paused = event { break } }
            let token = try #require(try await first.resumeToken)
            let json = try JSONEncoder().encode(token)
            #expect(try JSONDecoder().decode(ResumeToken.self, from: json) == token)
            let inbox = environment.directory.appending(path: "inbox", directoryHint: .isDirectory)
            let destination = environment.directory.appending(path: "other/file.bin")
            try FileManager.default.createDirectory(at: inbox, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: token.partialFile(relativeTo: environment.directory), to: token.partialFile(relativeTo: inbox))
            let downloader = Downloader(configuration: environment.downloader.configuration)
            let download = try await downloader.adopt(token, to: destination, partialFileIn: inbox)
            #expect(try await download.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, Self.cut])
            await downloader.shutdown()
        }
    }
}
