internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of downloads that URLSession started and this package continues.
@Suite(.endsWhenHung)
struct ImportingResumeDataTests {
    private static let content = Content(seed: 71, length: 300_000)
    private static let changed = Content(seed: 72, length: 300_000)
    private static let count: Int64 = 100_000

    @Test(arguments: Engine.allCases)
    func `a download continues from the bytes of a temporary file, which is then removed`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            let destination = environment.directory.appending(path: "file.bin")
            let download = try await environment.downloader.adopt(
                resumeData, to: destination, temporaryFileIn: environment.temporaryDirectory)
            let log = await EventLog(of: download)
            #expect(log.error == nil && log.restarts == [])
            #expect(log.resumptions == [Self.count])
            #expect(log.file?.fetchedByteCount == Self.content.length - Self.count)
            #expect(try environment.holds(Self.content))
            #expect(!environment.hasTemporaryFile)
            #expect(try environment.destinations == ["file.bin"])
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [Self.count])
        }
    }

    @Test func `a canceled task starts no download, and the bytes can be imported later`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            let request = environment.request("/one")
            let canceled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await environment.downloader.adopt(
                    resumeData, as: request, temporaryFileIn: environment.temporaryDirectory)
            }
            let error = await #expect(throws: DownloadError.self) { try await canceled.value }
            #expect(error?.code == .cancelled)
            #expect(environment.downloader.liveTransfers.isEmpty && environment.hasTemporaryFile)
            let download = try await environment.downloader.adopt(
                resumeData, as: request, temporaryFileIn: environment.temporaryDirectory)
            _ = try await download.file
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [Self.count])
        }
    }

    /// The entity tags of another URL's responses, and the resulting restarts.
    static let claims: [(tag: String?, restarts: [RestartReason])] = [
        ("\"a\"", []), ("\"b\"", [.contentChanged]), (nil, [.contentChanged]), ("W/\"a\"", [.contentChanged]),
    ]

    @Test(arguments: Engine.allCases, claims)
    func `rule 10: bytes of another URL require the same strong entity tag`(
        _ engine: Engine, _ claim: (tag: String?, restarts: [RestartReason])
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(Self.content, entityTag: claim.tag)
            resource.ifRange = .ignored
            resource.honorsIfMatch = false
            environment.server.serve(resource, at: "/two")
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            let download = try await environment.downloader.adopt(
                resumeData, as: environment.request("/two"), temporaryFileIn: environment.temporaryDirectory)
            let log = await EventLog(of: download)
            #expect(log.restarts == claim.restarts)
            #expect(log.resumptions == (claim.restarts.isEmpty ? [Self.count] : []))
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests(at: "/one").isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 22: a changed object is downloaded from its first byte`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(Self.changed, entityTag: "\"b\""), at: "/one")
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            let download = try await environment.downloader.adopt(
                resumeData, as: environment.request("/one"), temporaryFileIn: environment.temporaryDirectory)
            let log = await EventLog(of: download)
            #expect(log.restarts == [.contentChanged])
            #expect(try environment.holds(Self.changed))
        }
    }

    @Test(arguments: [nil, "W/\"a\""])
    func `rule 5: bytes that cannot be proven are neither used nor removed`(_ tag: String?) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: tag), at: "/one")
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one", tag: tag)
            let download = try await environment.downloader.adopt(
                resumeData, as: environment.request("/one"), temporaryFileIn: environment.temporaryDirectory)
            let log = await EventLog(of: download)
            #expect(log.restarts == [.noValidator])
            #expect(environment.hasTemporaryFile)
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0])
        }
    }

    @Test(arguments: [true, false])
    func `rule 3: a date is a validator if the date of the response is known`(isKnown: Bool) async throws {
        let date = "Fri, 16 Apr 2010 17:23:13 GMT"
        try await TestEnvironment.with { environment async throws in
            var resource = Resource(Self.content)
            resource.lastModified = date
            environment.server.serve(resource, at: "/one")
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one", tag: nil, lastModified: date)
            let download = try await environment.downloader.adopt(
                resumeData, as: environment.request("/one"), temporaryFileIn: environment.temporaryDirectory,
                responseDate: isKnown ? Date(timeIntervalSince1970: 1_700_000_000) : nil)
            let log = await EventLog(of: download)
            #expect(log.restarts == (isKnown ? [] : [.noValidator]))
            #expect(log.resumptions == (isKnown ? [Self.count] : []))
            #expect(environment.hasTemporaryFile != isKnown)
            #expect(try environment.holds(Self.content))
        }
    }

    @Test(arguments: [50_000, 100_000, 150_000] as [Int64])
    func `a download continues from the larger number of kept or imported bytes`(_ kept: Int64) async throws {
        try await TestEnvironment.with { environment async throws in
            let resource = Resource(
                Self.content, entityTag: "\"a\"", script: [[.stall(after: kept)]])
            environment.server.serve(resource, at: "/one")
            try await environment.leave(environment.request("/one"), at: kept)
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            let download = try await environment.downloader.adopt(
                resumeData, as: environment.request("/one"), temporaryFileIn: environment.temporaryDirectory)
            let log = await EventLog(of: download)
            #expect(log.resumptions == [max(kept, Self.count)])
            #expect(environment.hasTemporaryFile == (kept >= Self.count))
            #expect(try environment.holds(Self.content))
            #expect(try environment.destinations == ["file.bin"])
        }
    }

    @Test func `a paused download continues from a larger number of imported bytes`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 20_000)]]), at: "/one")
            let first = environment.downloader.start(environment.request("/one"))
            try await first.progress(reaching: 20_000)
            first.pause()
            for try await event in first.events { if case .paused = event { break } }
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            let second = try await environment.downloader.adopt(
                resumeData, as: environment.request("/one"), temporaryFileIn: environment.temporaryDirectory)
            #expect(second.isCoalesced)
            #expect(try await second.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, Self.count])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `rule 50: a running download refuses an import`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 20_000)]]), at: "/one")
            let running = environment.downloader.start(environment.request("/one"))
            try await running.progress(reaching: 20_000)
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.adopt(
                    resumeData, as: environment.request("/one"), temporaryFileIn: environment.temporaryDirectory)
            }
            #expect(error?.code == .partialInUse)
            #expect(environment.hasTemporaryFile)
            environment.server.release("/one")
            #expect(try await running.file.byteCount == Self.content.length)
            #expect(try environment.holds(Self.content))
        }
    }

    /// A replacement of the temporary file by an attacker or an accident.
    enum Stranger: CaseIterable, Sendable {
        case nothing, shorter, longer, link, secondName
    }

    @Test(arguments: Stranger.allCases)
    func `a temporary file that differs from its record is refused and kept`(_ stranger: Stranger) async throws {
        try await TestEnvironment.with { environment async throws in
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            let (files, other) = (FileManager.default, environment.directory.appending(path: "tmp/other"))
            let bytes = try Data(contentsOf: environment.temporaryFile)
            switch stranger {
            case .nothing: try files.removeItem(at: environment.temporaryFile)
            case .shorter: try bytes.dropLast().write(to: environment.temporaryFile)
            case .longer: try (bytes + [0]).write(to: environment.temporaryFile)
            case .link:
                try files.moveItem(at: environment.temporaryFile, to: other)
                try files.createSymbolicLink(at: environment.temporaryFile, withDestinationURL: other)
            case .secondName: try files.linkItem(at: environment.temporaryFile, to: other)
            }
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.adopt(
                    resumeData, as: environment.request("/one"), temporaryFileIn: environment.temporaryDirectory)
            }
            #expect(error?.code == .resumeDataUnusable)
            #expect(environment.hasTemporaryFile == (stranger != .nothing))
            if stranger == .link || stranger == .secondName { #expect(try Data(contentsOf: other) == bytes) }
            #expect(try environment.destinations == [])
            #expect(environment.server.requests().isEmpty)
        }
    }

    @Test func `an invalid request changes nothing`() async throws {
        try await TestEnvironment.with { environment async throws in
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            var request = environment.request("/one")
            request.headers = ["Range": "bytes=0-"]
            let refused = request
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.adopt(
                    resumeData, as: refused, temporaryFileIn: environment.temporaryDirectory)
            }
            #expect(error?.code == .invalidRequest)
            #expect(environment.hasTemporaryFile)
            #expect(try environment.destinations == [])
        }
    }

    @Test func `imported bytes survive a process that ends before it receives a response`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/two")
            let resumeData = try environment.paused(Self.content, Self.count, of: "/one")
            _ = try await environment.downloader.adopt(
                resumeData, as: environment.request("/two"), temporaryFileIn: environment.temporaryDirectory)
            _ = await environment.server.requests(at: "/two", reaching: 1)
            await environment.downloader.shutdown()

            // The server still has to confirm the bytes; a response without an entity tag is not a proof.
            var silent = Resource(Self.content)
            silent.ifRange = .ignored
            silent.honorsIfMatch = false
            environment.server.serve(silent, at: "/two")
            let second = Downloader(configuration: environment.downloader.configuration)
            let restored = try await second.restore(in: environment.directory)
            #expect(restored.map(\.progress.receivedByteCount) == [Self.count])
            for download in restored {
                download.resume()
                #expect(await EventLog(of: download).restarts == [.contentChanged])
            }
            #expect(try environment.holds(Self.content))
            await second.shutdown()
        }
    }
}
