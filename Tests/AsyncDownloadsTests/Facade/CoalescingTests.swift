import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Several downloads of one resource (rule 51).
@Suite(.endsWhenHung)
struct CoalescingTests {
    private let content = Content(seed: 3, length: 100_000)

    @Test
    func `a thousand concurrent downloads of a resource make one request`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let files = await withTaskGroup(of: Result<DownloadedFile, DownloadError>.self) { group in
                for _ in 0..<1000 {
                    group.addTask { await environment.result(of: environment.request("/one")) }
                }
                _ = await environment.server.requests(at: "/one", reaching: 1)
                // Every download has joined when every handle exists; the held head keeps the single transfer from
                // ending.
                while environment.downloader.callerCount < 1000 { await Task.yield() }
                environment.server.release("/one")
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(files.count == 1000)
            #expect(files.allSatisfy { (try? $0.get())?.byteCount == content.length })
            #expect(environment.server.requests(at: "/one").count == 1)
            #expect(try environment.holds(content))
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `one resource to two destinations is one transfer and two files`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let first = environment.downloader.start(environment.request("/one", to: "a.bin"))
            let second = environment.downloader.start(environment.request("/one", to: "b.bin"))
            _ = await environment.server.requests(at: "/one", reaching: 1)
            environment.server.release("/one")
            let (a, b) = (try await first.file, try await second.file)
            #expect(a.url.lastPathComponent == "a.bin")
            #expect(b.url.lastPathComponent == "b.bin")
            #expect(environment.server.requests(at: "/one").count == 1)
            #expect(try environment.holds(content, at: "a.bin"))
            #expect(try environment.holds(content, at: "b.bin"))
            #expect(try environment.leftovers == ["a.bin", "b.bin"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `canceling one download does not affect the others`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 50_000)]]), at: "/one")
            let canceled = environment.downloader.start(environment.request("/one", to: "a.bin"))
            let remaining = environment.downloader.start(environment.request("/one", to: "b.bin"))
            _ = await environment.server.requests(at: "/one", reaching: 1)
            canceled.cancel()
            environment.server.release("/one")
            await #expect(throws: DownloadError.self) { try await canceled.file }
            #expect(canceled.state == .cancelled)
            #expect(try await remaining.file.byteCount == content.length)
            #expect(environment.server.requests(at: "/one").count == 1)
            #expect(try environment.leftovers == ["b.bin"])
        }
    }

    @Test
    func `a download that joins a transfer begins with its current state`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 50_000)]]), at: "/one")
            let first = environment.downloader.start(environment.request("/one", to: "a.bin"))
            for try await event in first.events {
                if case .progress(let progress) = event, progress.receivedByteCount == 50_000 { break }
            }
            let second = environment.downloader.start(environment.request("/one", to: "b.bin"))
            #expect(!first.isCoalesced)
            #expect(second.isCoalesced)
            environment.server.release("/one")
            let log = await EventLog(of: second)
            guard case .started(content.length, true, _, _)? = log.events.first else {
                Issue.record("the first event was \(String(describing: log.events.first))")
                return
            }
            #expect(log.file?.byteCount == content.length)
        }
    }

    @Test
    func `cancelExisting ends the earlier downloads with an error and keeps the bytes`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 50_000)]]), at: "/one")
            let earlier = environment.downloader.start(environment.request("/one", to: "a.bin"))
            _ = await environment.server.requests(at: "/one", reaching: 1)
            var request = environment.request("/one", to: "b.bin")
            request.duplicatePolicy = .cancelExisting
            let newer = environment.downloader.start(request)
            environment.server.release("/one")
            let error = await #expect(throws: DownloadError.self) { try await earlier.file }
            #expect(error?.code == .superseded)
            #expect(try await newer.file.byteCount == content.length)
            #expect(environment.server.bodyBytesSent(at: "/one") == content.length)
        }
    }

    @Test
    func `reject refuses only the newer download`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let earlier = environment.downloader.start(environment.request("/one"))
            _ = await environment.server.requests(at: "/one", reaching: 1)
            var request = environment.request("/one")
            request.duplicatePolicy = .reject
            let newer = environment.downloader.start(request)
            let error = await #expect(throws: DownloadError.self) { try await newer.file }
            #expect(error?.code == .duplicate)
            environment.server.release("/one")
            #expect(try await earlier.file.byteCount == content.length)
        }
    }

    @Test
    func `two resources cannot have the same destination`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content, script: [[.holdHead]]), at: "/one")
            environment.server.serve(Resource(content), at: "/two")
            let first = environment.downloader.start(environment.request("/one"))
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.download(environment.request("/two"))
            }
            #expect(error?.code == .destinationInUse)
            _ = await environment.server.requests(at: "/one", reaching: 1)
            environment.server.release("/one")
            _ = try await first.file
            #expect(try await environment.downloader.download(environment.request("/two")).byteCount == content.length)
        }
    }

    @Test
    func `requests with other headers are not coalesced, and those with other fragments are`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content, script: [[.holdHead], [.holdHead]]), at: "/one")
            var german = environment.request("/one", to: "de")
            german.headers["Accept-Language"] = "de"
            let plain = environment.downloader.start(environment.request("/one", to: "en"))
            let translated = environment.downloader.start(german)
            let fragment = environment.downloader.start(environment.request("/one#part", to: "part"))
            _ = await environment.server.requests(at: "/one", reaching: 2)
            environment.server.release("/one")
            for download in [plain, translated, fragment] { _ = try await download.file }
            #expect(environment.server.requests(at: "/one").count == 2)
        }
    }
}
