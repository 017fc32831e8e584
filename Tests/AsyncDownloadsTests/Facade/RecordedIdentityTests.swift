internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Identifiers and data of the app, which are recorded with the received bytes.
@Suite(.endsWhenHung)
struct RecordedIdentityTests {
    private static let content = Content(seed: 74, length: 300_000)

    @Test func `identifiers and user info survive a relaunch, one for each download that shared the transfer`()
        async throws
    {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)], []]), at: "/one")
            var requests = ["a.bin", "b.bin", "c.bin"].map { environment.request("/one", to: $0) }
            for index in requests.indices { requests[index].userInfo = ["name": "\(index)"] }
            requests[2].checksum = Self.content.sha256
            let downloads = requests.map { environment.downloader.start($0) }
            try await downloads[0].progress(reaching: 100_000)
            downloads[1].cancel()
            await environment.downloader.shutdown()

            let next = environment.makeDownloader()
            let restored = try await next.restore(in: environment.directory)
            #expect(restored.map(\.id) == [downloads[0].id, downloads[2].id])
            #expect(restored.map(\.request.userInfo) == [["name": "0"], ["name": "2"]])
            #expect(restored.map(\.request.checksum) == [nil, Self.content.sha256])
            #expect(
                restored.map(\.request.destination) == [requests[0].destination, requests[2].destination])
            #expect(restored.allSatisfy { $0.state == .paused })
            // They are in use now, so that no second handle with another identity is made.
            #expect(try await next.restore(in: environment.directory) == restored)
            for download in restored { download.resume() }
            for download in restored { #expect(try await download.file.byteCount == Self.content.length) }
            await next.shutdown()
        }
    }

    @Test func `the last download that was canceled is found again`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: 100_000)
            download.cancel()
            await environment.downloader.shutdown()
            let next = environment.makeDownloader()
            #expect(try await next.restore(in: environment.directory).map(\.id) == [download.id])
            await next.shutdown()
        }
    }

    @Test func `user info of more than 4 KiB is refused`() async throws {
        let downloader = Downloader()
        var request = DownloadRequest(from: .sample("https://a.example/"), to: .sample("file:///a"))
        request.userInfo = ["key": String(repeating: "a", count: 4093)]
        #expect(request.validationError == nil)
        request.userInfo["b"] = ""
        #expect(downloader.start(request).snapshot.error?.code == .invalidRequest)
    }
}
