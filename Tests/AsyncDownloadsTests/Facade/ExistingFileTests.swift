import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of downloads whose destinations have files already; body bytes are counted at the server.
@Suite(.enabled(if: TemporaryDirectory.hasAttributes), .endsWhenHung)
struct ExistingFileTests {
    private static let content = Content(seed: 61, length: 300_000)
    private static let other = Content(seed: 62, length: 300_000)
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private static func resource(
        _ content: Content = content, tag: String? = "\"v1\"", lastModified: String? = nil
    ) -> Resource {
        var resource = Resource(content, entityTag: tag)
        resource.lastModified = lastModified
        return resource
    }

    private static func checksum(_ content: Content = content) throws -> Checksum {
        let digest = try #require(RunningDigest.sha256(of: [UInt8](content.bytes(in: 0..<content.length))))
        return .sha256(hexadecimal(digest))
    }

    /// Returns the conditions of the requests so far.
    private func conditions(_ environment: TestEnvironment) -> [String?] {
        environment.server.requests().map { $0["If-None-Match"] ?? $0["If-Modified-Since"] }
    }

    @Test(arguments: Engine.allCases)
    func `rule 61: a file with the expected digest is used without a request`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.resource(tag: nil), at: "/a")
            var request = environment.request("/a")
            request.checksum = try Self.checksum()
            let first = try await environment.downloader.download(request)
            #expect(!first.isReused)
            let before = environment.server.requests().count
            let log = await EventLog(of: environment.downloader.start(request))
            let file = try #require(log.file)
            #expect(file.isReused && file.fetchedByteCount == 0 && file.byteCount == Self.content.length)
            #expect(file.url == first.url)
            #expect(environment.server.requests().count == before)
            #expect(try environment.leftovers == ["file.bin"])
            // A file that was not downloaded is proven in the same way.
            let data = Data(Self.content.bytes(in: 0..<Self.content.length))
            try data.write(to: environment.directory.appending(path: "planted"))
            request.destination = .file(environment.directory.appending(path: "planted"))
            #expect(try await environment.downloader.download(request).isReused)
            // A file with another digest is replaced.
            try Data(Self.other.bytes(in: 0..<Self.other.length)).write(
                to: environment.directory.appending(path: "planted"))
            #expect(try await environment.downloader.download(request).isReused == false)
            #expect(try environment.holds(Self.content, at: "planted"))
        }
    }

    /// The validators of a server: an entity tag with or without a date, or a strong date.
    @Test(
        arguments: Engine.allCases,
        [("\"v1\"", nil, "\"v1\""), ("\"v1\"", date, "\"v1\""), (nil, date, date)] as [(String?, String?, String)])
    func `rule 62: a file that the server confirms is used, and no body is sent`(
        _ engine: Engine, _ row: (tag: String?, date: String?, condition: String)
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.resource(tag: row.tag, lastModified: row.date), at: "/a")
            let request = environment.request("/a")
            _ = try await environment.downloader.download(request)
            let (sent, count) = (environment.server.bodyBytesSent(at: "/a"), environment.server.requests().count)
            for _ in 0..<3 {
                let log = await EventLog(of: environment.downloader.start(request))
                let file = try #require(log.file)
                #expect(file.isReused && file.fetchedByteCount == 0)
                #expect(file.byteCount == Self.content.length && file.contentType == "application/octet-stream")
                #expect(file.entityTag == row.tag)
            }
            #expect(environment.server.bodyBytesSent(at: "/a") == sent)
            let later = environment.server.requests().dropFirst(count)
            #expect(later.map(\.status) == [304, 304, 304])
            #expect(later.allSatisfy { ($0["If-None-Match"] == nil) != ($0["If-Modified-Since"] == nil) })
            #expect(later.allSatisfy { $0["If-None-Match"] ?? $0["If-Modified-Since"] == row.condition })
            #expect(try environment.holds(Self.content))
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 62: a file that has changed at the server is replaced`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            let request = environment.request("/a")
            _ = try await environment.downloader.download(request)
            environment.server.serve(Self.resource(Self.other, tag: "\"v2\""), at: "/a")
            #expect(try await environment.downloader.download(request).isReused == false)
            #expect(try environment.holds(Self.other))
            let file = try await environment.downloader.download(request)
            #expect(file.isReused && file.entityTag == "\"v2\"")
        }
    }

    @Test func `rule 62: without a strong validator, the file is fetched again`() async throws {
        for tag in [nil, "W/\"v1\""] {
            try await TestEnvironment.with { environment async throws in
                environment.server.serve(Self.resource(tag: tag), at: "/a")
                for _ in 0..<2 {
                    #expect(try await environment.downloader.download(environment.request("/a")).isReused == false)
                }
                #expect(conditions(environment) == [nil, nil])
            }
        }
    }

    /// Responses to the condition that don't confirm the file: each leads to one request without a condition.
    @Test(arguments: ["\"v2\"", "W/\"v1\""])
    func `boundary 22: by rule 62, a 304 with another entity tag is not believed`(_ tag: String) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            let request = environment.request("/a")
            _ = try await environment.downloader.download(request)
            var resource = Self.resource(Self.other, tag: "\"v2\"")
            resource.script = [[.status(304, headers: ["ETag": tag])]]
            environment.server.serve(resource, at: "/a")
            #expect(try await environment.downloader.download(request).isReused == false)
            #expect(conditions(environment) == [nil, "\"v1\"", nil])
            #expect(try environment.holds(Self.other))
        }
    }

    @Test func `boundary 22: by rules 31 and 62, a login page with status 200 leaves the file unchanged`() async throws
    {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            let request = environment.request("/a")
            _ = try await environment.downloader.download(request)
            let page: Step = [.status(200, headers: ["Content-Type": "text/html"], body: "<html>log in</html>")]
            var resource = Self.resource()
            (resource.script, resource.repeatsLastStep) = ([page], true)
            environment.server.serve(resource, at: "/a")
            let error = await #expect(throws: DownloadError.self) { try await environment.downloader.download(request) }
            #expect(error?.code == .unexpectedHTML)
            #expect(try environment.holds(Self.content))
            environment.server.serve(Self.resource(), at: "/a")
            #expect(try await environment.downloader.download(request).isReused)
        }
    }

    @Test func `rules 60 and 62: nothing is asked about a file that something has changed`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            environment.server.serve(Self.resource(), at: "/b")
            let request = environment.request("/a")
            let file = try await environment.downloader.download(request)
            let handle = try FileHandle(forUpdating: file.url)
            try handle.write(contentsOf: Data("x".utf8))
            try handle.close()
            #expect(try await environment.downloader.download(request).isReused == false)
            #expect(try environment.holds(Self.content))
            // Another resource, other nonsecret headers, an account, and secret headers.
            var others = [environment.request("/b"), environment.request("/a"), environment.request("/a")]
            others[1].headers["Accept"] = "text/plain"
            others[2].account = "user"
            for other in others { #expect(try await environment.downloader.download(other).isReused == false) }
            var secret = environment.request("/a")
            secret.headers["Authorization"] = "secret"
            for _ in 0..<2 { #expect(try await environment.downloader.download(secret).isReused == false) }
            secret.account = "user"
            #expect(try await environment.downloader.download(secret).isReused == false)
            secret.headers["Authorization"] = "renewed"
            #expect(try await environment.downloader.download(secret).isReused)
            secret.account = "someone else"
            #expect(try await environment.downloader.download(secret).isReused == false)
        }
    }

    @Test func `rule 61: the policy replace requests without a condition`() async throws {
        try await TestEnvironment.with(configure: { $0.existingFilePolicy = .replace }) { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            var request = environment.request("/a")
            for _ in 0..<2 { #expect(try await environment.downloader.download(request).isReused == false) }
            #expect(conditions(environment) == [nil, nil])
            request.existingFilePolicy = .reuse
            #expect(try await environment.downloader.download(request).isReused)
        }
    }

    @Test func `rule 61: the policy keep uses any file without a request`() async throws {
        try await TestEnvironment.with(configure: { $0.existingFilePolicy = .keep }) { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            let request = environment.request("/a")
            try Data("mine".utf8).write(to: environment.directory.appending(path: "file.bin"))
            let file = try await environment.downloader.download(request)
            #expect(file.isReused && file.byteCount == 4)
            #expect(environment.server.requests().isEmpty)
            // Without a file, it is fetched.
            #expect(try await environment.downloader.download(environment.request("/a", to: "new")).isReused == false)
            #expect(try await environment.downloader.download(environment.request("/a", to: "new")).isReused)
            #expect(environment.server.requests().count == 1)
        }
    }

    @Test func `rule 61: the policy fail refuses an existing file at the start and at the end`() async throws {
        try await TestEnvironment.with(configure: { $0.existingFilePolicy = .fail }) { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            let request = environment.request("/a")
            let path = environment.directory.appending(path: "file.bin")
            try Data("mine".utf8).write(to: path)
            var error = await #expect(throws: DownloadError.self) { try await environment.downloader.download(request) }
            #expect(error?.code == .destinationExists)
            #expect(environment.server.requests().isEmpty)
            try FileManager.default.removeItem(at: path)
            var resource = Self.resource()
            resource.script = [[.stall(after: 200_000)]]
            environment.server.serve(resource, at: "/a")
            let download = environment.downloader.start(request)
            try await download.progress(reaching: 100_000)
            try Data("mine".utf8).write(to: path)
            environment.server.release("/a")
            error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .destinationExists)
            #expect(try Data(contentsOf: path) == Data("mine".utf8))
        }
    }

    @Test func `rule 63: bytes of an unfinished download are continued instead`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            let request = environment.request("/a")
            _ = try await environment.downloader.download(request)
            var resource = Self.resource(Self.other, tag: "\"v2\"")
            resource.script = [[.stall(after: 200_000)]]
            environment.server.serve(resource, at: "/a")
            let download = environment.downloader.start(request)
            try await download.progress(reaching: 150_000)
            download.cancel()
            _ = try? await download.file
            environment.server.release("/a")
            #expect(try environment.holds(Self.content))
            let count = environment.server.requests().count
            #expect(try await environment.downloader.download(request).isReused == false)
            let last = environment.server.requests().dropFirst(count)
            #expect(last.first?["Range"] != nil && last.allSatisfy { $0["If-None-Match"] == nil })
            #expect(try environment.holds(Self.other))
        }
    }

    @Test func `rule 62: the server is asked only if every destination has the file`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            let (one, two) = (environment.request("/a", to: "one"), environment.request("/a", to: "two"))
            _ = try await environment.downloader.download(one)
            _ = try await environment.downloader.download(two)
            let before = environment.server.bodyBytesSent(at: "/a")
            func both() async throws -> [Bool] {
                var resource = Self.resource()
                resource.script = [[.holdHead]]
                environment.server.serve(resource, at: "/a")
                let count = environment.server.requests().count
                let downloads = [environment.downloader.start(one), environment.downloader.start(two)]
                _ = await environment.server.requests(at: "/a", reaching: count + 1)
                environment.server.release("/a")
                var results: [Bool] = []
                for download in downloads { results.append(try await download.file.isReused) }
                return results
            }
            #expect(try await both() == [true, true])
            #expect(environment.server.bodyBytesSent(at: "/a") == before)
        }
    }

    @Test func `rule 62: with an identity, a 304 without a validator is not believed`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.resource(), at: "/a")
            environment.server.serve(Self.resource(), at: "/b")
            var request = environment.request("/a")
            request.identity = "film"
            _ = try await environment.downloader.download(request)
            request.url = environment.server.url("/b")
            #expect(try await environment.downloader.download(request).isReused)
            var resource = Self.resource(Self.other, tag: "\"v2\"")
            resource.script = [[.status(304)]]
            environment.server.serve(resource, at: "/b")
            #expect(try await environment.downloader.download(request).isReused == false)
            #expect(try environment.holds(Self.other))
        }
    }
}
