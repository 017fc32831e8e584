import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// The contents of a download's files (rules 9, 12, 42, 46, and 49).
@Suite(.endsWhenHung)
struct RecordTests {
    private let content = Content(seed: 11, length: 3_000_000)
    private let cut: Int64 = 1_200_000

    /// Makes the server cut off the first response halfway, and complete later ones.
    private func serve(_ environment: TestEnvironment, _ change: (inout Resource) -> Void = { _ in }) {
        var resource = Resource(content, entityTag: "\"a\"", script: [[.cut(after: cut)]])
        change(&resource)
        environment.server.serve(resource, at: "/one")
    }

    @Test(arguments: [("Accept", "text/csv"), ("Accept-Language", "de"), ("Authorization", "Bearer b")])
    func `rule 9: bytes of a request with other headers are not continued`(_ header: (String, String)) async throws {
        try await TestEnvironment.with(configure: { $0.retryPolicy = .never }) { environment async throws in
            serve(environment)
            let log = await EventLog(of: environment.downloader.start(environment.request("/one")))
            #expect(log.error?.retainedByteCount == cut)
            var other = environment.request("/one", to: "other.bin")
            other.headers[header.0] = header.1
            _ = try await environment.downloader.download(other)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, 0])
            #expect(environment.server.requests(at: "/one").allSatisfy { $0.method == "GET" })
        }
    }

    @Test(arguments: [("Accept", "text/csv"), ("Accept-Language", "de")])
    func `rule 9: bytes of a request with other headers are not continued at the same destination`(
        _ header: (String, String)
    ) async throws {
        try await TestEnvironment.with(configure: { $0.retryPolicy = .never }) { environment async throws in
            serve(environment)
            _ = await EventLog(of: environment.downloader.start(environment.request("/one")))
            var other = environment.request("/one")
            other.headers[header.0] = header.1
            _ = try await environment.downloader.download(other)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, 0])
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 12: a file that the checkpoint records as complete is placed without a request`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment) { $0.script = [[.stall(after: cut)]] }
            let destination = environment.directory.appending(path: "file.bin")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: cut)
            try FileManager.default.createDirectory(at: destination, withIntermediateDirectories: false)
            let events = download.events
            environment.server.release("/one")
            let log = await EventLog(events)
            #expect(log.error?.code == .destinationUnusable)
            try FileManager.default.removeItem(at: destination)
            #expect(try await environment.downloader.download(environment.request("/one")).fetchedByteCount == 0)
            #expect(environment.server.requests(at: "/one").count == 1)
            #expect(try environment.holds(content))
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rules 42 and 46: the destination is unchanged until the complete file replaces it`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment) { $0.script = [[.stall(after: cut)]] }
            let destination = environment.directory.appending(path: "file.bin")
            try Data("old".utf8).write(to: destination)
            let download = environment.downloader.start(environment.request("/one"))
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount >= cut { break }
            }
            #expect(try Data(contentsOf: destination) == Data("old".utf8))
            #expect(try environment.leftovers.filter { !$0.hasPrefix(".") } == ["file.bin"])
            environment.server.release("/one")
            _ = try await download.file
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 49: by default, the file has the local modification date, not the server's`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment) { $0.lastModified = "Fri, 16 Apr 2010 17:23:13 GMT" }
            let start = try modificationDate(of: environment.directory)
            let file = try await environment.downloader.download(environment.request("/one"))
            #expect(file.lastModified == "Fri, 16 Apr 2010 17:23:13 GMT")
            #expect(try modificationDate(of: file.url) >= start)
        }
    }

    private func modificationDate(of url: URL) throws -> Date {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        return try #require(attributes[.modificationDate] as? Date)
    }
}
