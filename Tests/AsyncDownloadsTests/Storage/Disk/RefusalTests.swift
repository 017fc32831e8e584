import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of downloads to a disk that sometimes refuses to open files (rule 44).
@Suite("A disk that refuses to open files", .endsWhenHung)
struct RefusalTests {
    private static let content = Content(seed: 60, length: 900_000)

    /// Returns a file system that refuses the first `count` openings of files with this suffix.
    private func refusing(_ suffix: String, _ kind: FileFailure.Kind, count: Int) -> PretendingFileSystem {
        let counter = Counter()
        var disk = PretendingFileSystem(locks: .working {})
        disk.refusal = { path, _ in path.hasSuffix(suffix) && counter.enter() <= count ? kind : nil }
        return disk
    }

    private func with(
        _ disk: PretendingFileSystem, script: [Step] = [],
        _ body: (TestEnvironment, Download) async throws -> Void
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"1\"", script: script), at: "/one")
            let downloader = Downloader(
                configuration: environment.downloader.configuration, transport: Engine.preferred.makeTransport(),
                store: PartialStore(disk: disk, durability: .powerLoss, bootID: "boot"), time: SystemTimeSource())
            do {
                try await body(environment, downloader.start(environment.request("/one")))
            } catch {
                await downloader.shutdown()
                throw error
            }
            await downloader.shutdown()
        }
    }

    @Test(arguments: [".lock", ".partial"])
    func `rule 44: a download retries when descriptors are exhausted`(suffix: String) async throws {
        try await with(refusing(suffix, .tooManyOpenFiles, count: 2)) { environment, download async throws in
            let log = await EventLog(of: download)
            #expect(log.retries == [.tooManyOpenFiles, .tooManyOpenFiles])
            #expect(log.file?.byteCount == Self.content.length)
            #expect(try environment.holds(Self.content))
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test(arguments: [".lock", ".partial"])
    func `a download fails when descriptors remain exhausted`(suffix: String) async throws {
        try await with(refusing(suffix, .tooManyOpenFiles, count: .max)) { environment, download async throws in
            let log = await EventLog(of: download)
            #expect(log.retries.count == 3)
            #expect(log.error?.code == .tooManyOpenFiles)
            #expect(log.error?.isRetryable == true)
            #expect(try environment.leftovers.isEmpty)
        }
    }

    @Test func `a download does not retry after another refusal`() async throws {
        try await with(refusing(".lock", .denied, count: 1)) { environment, download async throws in
            let log = await EventLog(of: download)
            #expect(log.retries.isEmpty)
            #expect(log.error?.code == .permissionDenied)
        }
    }

    @Test func `rules 54 and 56: a pause without a checkpoint keeps no bytes, and resuming fetches all`() async throws {
        let stalled: Int64 = 500_000
        try await with(refusing(".temp", .noSpace, count: 1), script: [[.stall(after: stalled)]]) {
            environment, download async throws in
            let stream = download.events
            let listening = Task { await EventLog(stream) }
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount == stalled { break }
            }
            download.pause()
            for try await event in download.events {
                if case .paused(let received) = event {
                    #expect(received == 0)
                    break
                }
            }
            #expect(download.progress.receivedByteCount == 0)
            #expect(try environment.leftovers.isEmpty, "no bytes are kept without a checkpoint")
            download.resume()
            let log = await listening.value
            #expect(log.restarts == [.checkpointNotSaved])
            #expect(log.file?.fetchedByteCount == Self.content.length + stalled)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, 0])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `an error without a checkpoint reports no kept bytes`() async throws {
        let stalled: Int64 = 500_000
        try await with(
            refusing(".temp", .noSpace, count: .max),
            script: [[.stall(after: stalled)], [.status(404)], [.status(404)]]
        ) { environment, download async throws in
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount == stalled { break }
            }
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .httpStatus)
            #expect(error?.retainedByteCount == 0)
            #expect(try environment.leftovers.isEmpty)
        }
    }
}
