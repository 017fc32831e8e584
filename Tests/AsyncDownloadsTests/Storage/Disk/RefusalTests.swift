import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Downloads over a disk that refuses to open files now and then (rule 44).
@Suite("A disk that refuses", .endsWhenHung)
struct RefusalTests {
    private static let content = Content(seed: 60, length: 900_000)

    /// Refuses the first `count` openings of files whose names end so.
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
                configuration: environment.downloader.configuration, transport: Engine.httpClient.makeTransport(),
                store: DiskStore(disk: disk, durability: .powerLoss, bootID: "boot"), time: SystemTimeSource())
            do {
                try await body(environment, downloader.start(environment.request("/one")))
            } catch {
                await downloader.shutdown()
                throw error
            }
            await downloader.shutdown()
        }
    }

    @Test("is asked again when the descriptors have run out", arguments: [".lock", ".partial"])
    func descriptors(suffix: String) async throws {
        try await with(refusing(suffix, .tooManyOpenFiles, count: 2)) { environment, download async throws in
            let log = await EventLog(of: download)
            #expect(log.retries == [.tooManyOpenFiles, .tooManyOpenFiles])
            #expect(log.file?.byteCount == Self.content.length)
            #expect(try environment.holds(Self.content))
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test("fails the download when they never come back", arguments: [".lock", ".partial"])
    func exhausted(suffix: String) async throws {
        try await with(refusing(suffix, .tooManyOpenFiles, count: .max)) { environment, download async throws in
            let log = await EventLog(of: download)
            #expect(log.retries.count == 3)
            #expect(log.error?.code == .tooManyOpenFiles)
            #expect(log.error?.isRetryable == true)
            #expect(try environment.leftovers.isEmpty)
        }
    }

    @Test("for another reason is not asked again")
    func refused() async throws {
        try await with(refusing(".lock", .denied, count: 1)) { environment, download async throws in
            let log = await EventLog(of: download)
            #expect(log.retries.isEmpty)
            #expect(log.error?.code == .permissionDenied)
        }
    }

    @Test("a checkpoint makes a pause say what is kept, and going on fetches the rest (rules 54 and 56)")
    func pause() async throws {
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
            #expect(try environment.leftovers.isEmpty, "nothing is kept without a checkpoint")
            download.resume()
            let log = await listening.value
            #expect(log.restarts == [.checkpointNotSaved])
            #expect(log.file?.fetchedByteCount == Self.content.length + stalled)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, 0])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test("a checkpoint makes an error say that nothing is kept")
    func failure() async throws {
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
