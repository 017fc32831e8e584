internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests with a real file system that is full or read-only: errors are typed, and the next run resumes (rule 44).
@Suite(.endsWhenHung, .serialized, .enabled(if: SmallDisk.isAvailable))
struct FullDiskTests {
    private static let mebibyte: Int64 = 1 << 20

    private func run(_ server: LoopbackServer, _ disk: SmallDisk, _ more: [String] = []) throws -> CommandRun {
        let arguments = [server.url("object").absoluteString, "-d", disk.folder.url.path, "--json"]
        return try CommandRun(arguments + more, in: disk.home)
    }

    @Test(arguments: ["http-client", "urlsession"])
    func `a file that does not fit is rejected before its first byte`(engine: String) async throws {
        let content = Content(seed: 1, length: 12 * Self.mebibyte)
        try await LoopbackServer.withServer { server in
            try await SmallDisk.with(mebibytes: 8) { disk in
                server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: 0)]]), at: "object")
                let end = try await run(server, disk, ["--engine", engine]).end()
                #expect(end.status == 1)
                let failed = try end.failure()
                #expect(failed.code == "diskFull")
                #expect(failed.kept == 0)
                #expect(try end.fetched() == 0)
                #expect(server.bodyBytesSent(at: "object") == 0)
                #expect(try disk.folder.names().isEmpty)

                try disk.remount("size=32m")
                #expect(try await run(server, disk, ["--engine", engine]).end().status == 0)
                #expect(try disk.folder.holds(content, at: "object"))
            }
        }
    }

    @Test func `a disk that fills up during a download keeps the bytes, and the next run resumes`() async throws {
        let content = Content(seed: 2, length: 12 * Self.mebibyte)
        try await LoopbackServer.withServer { server in
            try await SmallDisk.with(mebibytes: 8) { disk in
                // Space cannot be preallocated for a body of unknown length.
                var resource = Resource(content, entityTag: "\"1\"")
                resource.framing = .chunked
                server.serve(resource, at: "object")
                let full = try await run(server, disk).end()
                #expect(full.status == 1)
                let failed = try full.failure()
                #expect(failed.code == "diskFull")
                let kept = try #require(failed.kept)
                #expect(kept > 6 << 20)
                #expect(try Remains(in: disk.folder.url, of: content).received == IntervalSet(0..<kept))

                try disk.remount("size=32m")
                let end = try await run(server, disk).end()
                #expect(end.status == 0, "\(end.error)")
                #expect(server.requests(at: "object").map(\.start) == [0, kept])
                #expect(try end.fetched() == content.length - kept)
                #expect(try disk.folder.holds(content, at: "object"))
                #expect(try disk.folder.names() == ["object"])
            }
        }
    }

    @Test func `boundary 3: a file system in memory reserves no space, and a disk that others fill keeps the bytes`()
        async throws
    {
        let content = Content(seed: 3, length: 6 * Self.mebibyte)
        try await LoopbackServer.withServer { server in
            try await SmallDisk.with(mebibytes: 8) { disk in
                server.serve(
                    Resource(content, entityTag: "\"1\"", script: [[.stall(after: 2 * Self.mebibyte)]]), at: "object")
                let run = try run(server, disk)
                #expect(await run.printed { $0["received"] as? Int64 == 2 * Self.mebibyte })
                try disk.fill()
                server.release("object")
                let full = try await run.end()
                #expect(full.status == 1)
                #expect(try full.failure().code == "diskFull")
                #expect(try full.failure().kept == 2 * Self.mebibyte)

                try disk.remount("size=32m")
                let end = try await self.run(server, disk).end()
                #expect(end.status == 0, "\(end.error)")
                #expect(server.requests(at: "object").map(\.start) == [0, 2 * Self.mebibyte])
                #expect(try disk.folder.holds(content, at: "object"))
            }
        }
    }

    /// Tests a long file and a short one.
    ///
    /// A long file has a checkpoint from the start, whose mark needs no more space. The first checkpoint of a short
    /// file is written when the run stops, for which a full disk has no space.
    @Test(arguments: [(4 * mebibyte, 2 * mebibyte, 2 * mebibyte), (60_000, 40_000, 0)])
    func `a pause on a full disk reports the kept bytes`(length: Int64, stalled: Int64, kept: Int64) async throws {
        let content = Content(seed: 4, length: length)
        try await LoopbackServer.withServer { server in
            try await SmallDisk.with(mebibytes: 8) { disk in
                server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: stalled)]]), at: "object")
                let stopping = try run(server, disk)
                #expect(await stopping.printed { $0["received"] as? Int64 == stalled })
                try disk.fill()
                stopping.signal(SIGINT)
                let end = try await stopping.end()
                #expect(end.status == 130)
                try check(end, lost: stalled - kept, kept: kept)
                #expect(try Remains(in: disk.folder.url, of: content).received.count == kept)

                try disk.clear()
                #expect(try await run(server, disk).end().status == 0)
                #expect(server.requests(at: "object").map(\.start) == [0, kept])
                #expect(try disk.folder.holds(content, at: "object"))
            }
        }
    }

    /// Checks the events and the message of a run that was stopped.
    private func check(_ end: CommandRun.End, lost: Int64, kept: Int64) throws {
        let events = try end.events().filter { ["paused", "restarted"].contains($0["event"] as? String) }
        #expect(events.last?["received"] as? Int64 == kept)
        #expect(events.count == (lost > 0 ? 2 : 1))
        #expect(end.error.contains(lost > 0 ? "could not be saved" : "all received bytes are saved"))
        guard lost > 0 else { return }
        #expect(events.first?["reason"] as? String == "checkpointNotSaved")
        #expect(events.first?["discarded"] as? Int64 == lost)
    }

    @Test func `the library reports a full disk with the kept bytes, and resumes when space is available`()
        async throws
    {
        let content = Content(seed: 5, length: 12 * Self.mebibyte)
        try await LoopbackServer.withServer { server in
            try await SmallDisk.with(mebibytes: 8) { disk in
                var resource = Resource(content, entityTag: "\"1\"")
                resource.framing = .chunked
                server.serve(resource, at: "object")
                let downloader = Downloader()
                let request = DownloadRequest(from: server.url("object"), to: disk.folder.url("object"))
                let full = await downloader.result(of: request)
                try disk.remount("size=32m")
                let whole = await downloader.result(of: request)
                await downloader.shutdown()

                let error = #expect(throws: DownloadError.self) { try full.get() }
                #expect(error?.code == .diskFull)
                #expect(error?.isRetryable == false)
                let kept = try #require(error?.retainedByteCount)
                #expect(kept > 6 << 20)
                #expect(try whole.get().fetchedByteCount == content.length - kept)
                #expect(try disk.folder.holds(content, at: "object"))
            }
        }
    }

    @Test(arguments: ["http-client", "urlsession"])
    func `a read-only disk fails a download before its request, and no byte is lost`(engine: String) async throws {
        let content = Content(seed: 6, length: 4 * Self.mebibyte)
        try await LoopbackServer.withServer { server in
            try await SmallDisk.with(mebibytes: 8) { disk in
                server.serve(
                    Resource(content, entityTag: "\"1\"", script: [[.stall(after: 2 * Self.mebibyte)]]), at: "object")
                let stopping = try run(server, disk, ["--engine", engine])
                #expect(await stopping.printed { $0["received"] as? Int64 == 2 * Self.mebibyte })
                stopping.signal(SIGINT)
                #expect(try await stopping.end().status == 130)

                try disk.remount("ro")
                let refused = try await run(server, disk, ["--engine", engine]).end()
                #expect(refused.status == 1)
                let failed = try refused.failure()
                #expect(failed.code == "permissionDenied")
                #expect(server.requests(at: "object").count == 1)

                try disk.remount("rw")
                #expect(try await run(server, disk, ["--engine", engine]).end().status == 0)
                #expect(server.requests(at: "object").map(\.start) == [0, 2 * Self.mebibyte])
                #expect(try disk.folder.holds(content, at: "object"))
            }
        }
    }
}

extension Downloader {
    fileprivate func result(of request: DownloadRequest) async -> Result<DownloadedFile, DownloadError> {
        do throws(DownloadError) {
            return .success(try await download(request))
        } catch {
            return .failure(error)
        }
    }
}
