import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of hidden files that a process, killed after the rename, left beside a finished file that is used again.
@Suite(.enabled(if: TemporaryDirectory.hasAttributes), .endsWhenHung)
struct ExistingFileLeftoversTests {
    private static let content = Content(seed: 61, length: 300_000)

    /// Downloads the file, and leaves the partial file and the checkpoint of another download beside it.
    private func leavePartialFile(of request: DownloadRequest, _ environment: TestEnvironment) async throws {
        environment.server.serve(Resource(Self.content, entityTag: "\"v1\""), at: "/a")
        _ = try await environment.downloader.download(request)
        var replacing = request
        replacing.existingFilePolicy = .replace
        environment.server.serve(
            Resource(Self.content, entityTag: "\"v1\"", script: [[.stall(after: 200_000)]]), at: "/a")
        let download = environment.downloader.start(replacing)
        try await download.progress(reaching: 150_000)
        download.pause()
        for try await event in download.events { if case .paused = event { break } }
        download.cancel()
        environment.server.release("/a")
        #expect(try environment.leftovers.count > 1)
    }

    /// The partial file of a killed process has become the finished one; otherwise, it may belong to another object.
    @Test(arguments: [true, false])
    func `rule 61: a file that a checksum proves needs no checkpoint`(isPartialMissing: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            var request = environment.request("/a")
            try await leavePartialFile(of: request, environment)
            let names = try environment.leftovers
            for name in names where name.hasSuffix(".partial") && isPartialMissing {
                try FileManager.default.removeItem(at: environment.directory.appending(path: name))
            }
            let count = environment.server.requests().count
            let digest = try #require(RunningDigest.sha256(of: [UInt8](Self.content.bytes(in: 0..<300_000))))
            request.checksum = .sha256(hexadecimal(digest))
            #expect(try await environment.downloader.download(request).isReused)
            #expect(environment.server.requests().count == count)
            #expect(try environment.leftovers == (isPartialMissing ? ["file.bin"] : names))
        }
    }

    @Test func `rule 62: a file that the server confirms needs no checkpoint`() async throws {
        try await TestEnvironment.with { environment async throws in
            let request = environment.request("/a")
            try await leavePartialFile(of: request, environment)
            for name in try environment.leftovers where name.hasSuffix(".partial") {
                try FileManager.default.removeItem(at: environment.directory.appending(path: name))
            }
            #expect(try environment.leftovers.count > 1)
            environment.server.serve(Resource(Self.content, entityTag: "\"v1\""), at: "/a")
            #expect(try await environment.downloader.download(request).isReused)
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test func `the bytes of a newer version are kept while the caller keeps the file`() async throws {
        try await TestEnvironment.with { environment async throws in
            var request = environment.request("/a")
            try await leavePartialFile(of: request, environment)
            let names = try environment.leftovers
            request.existingFilePolicy = .keep
            #expect(try await environment.downloader.download(request).isReused)
            #expect(try environment.leftovers == names)
        }
    }
}
