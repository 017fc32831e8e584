import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the metadata of a resource, which is requested without its bytes.
@Suite(.endsWhenHung)
struct MetadataTests {
    private static let content = Content(seed: 95, length: 3_000_000)

    private static let resource: Resource = {
        var resource = Resource(content, entityTag: "\"v1\"")
        resource.contentDisposition = "attachment; filename=\"../model.zip\""
        resource.contentType = "application/zip"
        resource.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
        return resource
    }()

    private func expectMetadata(_ metadata: ResourceMetadata, from url: URL) {
        #expect(metadata.byteCount == Self.content.length && metadata.suggestedName == "model.zip")
        #expect(metadata.contentType == "application/zip" && metadata.entityTag == "\"v1\"")
        #expect(metadata.lastModified == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(metadata.isResumable && metadata.acceptsRanges == true && metadata.finalURL == url)
    }

    @Test(arguments: Engine.allCases)
    func `a HEAD request is enough, and follows redirects`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.resource, at: "/b")
            var start = Resource("")
            start.script = [[.redirect(location: "/b?signature=s3cret")]]
            environment.server.serve(start, at: "/a")
            let metadata = try await environment.downloader.metadata(for: environment.server.url("/a"))
            expectMetadata(metadata, from: environment.server.url("/b?signature=s3cret"))
            #expect(!"\(metadata)".contains("s3cret"))
            #expect(environment.server.requests().map(\.method) == ["HEAD", "HEAD"])
            #expect(environment.server.bodyBytesSent(at: "/b") == 0)
            while !environment.downloader.liveTransfers.isEmpty { await Task.yield() }
        }
    }

    @Test(arguments: Engine.allCases, [403, 405, 501])
    func `a server that refuses HEAD is asked for the first byte`(_ engine: Engine, _ status: Int) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Self.resource
            resource.script = [[.status(status, body: "no")]]
            environment.server.serve(resource, at: "/b")
            let url = environment.server.url("/b")
            expectMetadata(try await environment.downloader.metadata(for: url), from: url)
            #expect(environment.server.requests().map(\.method) == ["HEAD", "GET"])
            #expect(environment.server.requests().last?["Range"] == "bytes=0-0")
            #expect(environment.server.requests().last?.status == 206)
        }
    }

    @Test(arguments: Engine.allCases)
    func `without a validator and ranges, the body of the fallback is not received`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(Self.content, script: [[.status(405)]])
            resource.ranges = .ignored
            environment.server.serve(resource, at: "/b")
            let metadata = try await environment.downloader.metadata(for: environment.server.url("/b"))
            #expect(metadata.byteCount == Self.content.length && metadata.acceptsRanges == nil)
            #expect(!metadata.isResumable && metadata.entityTag == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `failures are retried as those of a download, and the last one arrives`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Self.resource
            resource.script = [[.status(503)], [.closeBeforeHead()]]
            environment.server.serve(resource, at: "/b")
            let url = environment.server.url("/b")
            expectMetadata(try await environment.downloader.metadata(for: url), from: url)
            let missing = environment.server.url("/missing")
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.metadata(for: missing)
            }
            #expect(error?.code == .httpStatus && error?.statusCode == 404 && error?.url == missing)
            #expect(environment.server.requests(at: "/missing").map(\.method) == ["HEAD"])
        }
    }

    @Test func `the conditions and the destination of the request don't apply, and its headers do`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.resource, at: "/b")
            var request = environment.request("/b")
            request.headers["Authorization"] = "Bearer x"
            request.acceptedMediaTypes = ["image/png"]
            request.validateResponse = { _ in throw CancellationError() }
            (request.expectedByteCount, request.maximumByteCount) = (5, 5)
            let metadata = try await environment.downloader.metadata(for: request)
            expectMetadata(metadata, from: environment.server.url("/b"))
            #expect(environment.server.requests().allSatisfy { $0["Authorization"] == "Bearer x" })
            #expect(try environment.leftovers == [])
        }
    }

    @Test func `a download of the same resource is independent`() async throws {
        try await TestEnvironment.with { environment async throws in
            var resource = Self.resource
            resource.script = [[.stall(after: 100_000)]]
            environment.server.serve(resource, at: "/b")
            let download = environment.downloader.start(environment.request("/b"))
            try await download.progress(reaching: 100_000)
            let url = environment.server.url("/b")
            expectMetadata(try await environment.downloader.metadata(for: url), from: url)
            #expect(environment.downloader.downloads(for: url).count == 1)
            environment.server.release("/b")
            _ = try await download.file
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `a canceled task sends nothing`() async throws {
        try await TestEnvironment.with { environment async throws in
            let url = environment.server.url("/b")
            let task = Task { () async throws(DownloadError) in
                while !Task.isCancelled { await Task.yield() }
                return try await environment.downloader.metadata(for: url)
            }
            task.cancel()
            let error = await #expect(throws: DownloadError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(environment.server.requests().isEmpty)
        }
    }
}
