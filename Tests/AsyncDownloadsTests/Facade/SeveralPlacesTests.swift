internal import Dispatch
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of one resource for several subscribers whose files are at different places.
@Suite(.endsWhenHung)
struct SeveralPlacesTests {
    private static let content = Content(seed: 61, length: 3_000_000)
    private static let resource = Resource(content, entityTag: "\"a\"", script: [[.stall(after: 2_000_000)]])

    /// Runs `body` with a downloader that uses `files`.
    private func with(
        _ files: PretendingFileSystem, _ body: (TestEnvironment, Downloader) async throws -> Void
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.resource, at: "/one")
            for name in ["first", "second"] {
                try FileManager.default.createDirectory(
                    at: environment.directory.appending(path: name), withIntermediateDirectories: false)
            }
            var configuration = environment.downloader.configuration
            configuration.maximumDataByteCount = 4_000_000
            configuration.maximumConcurrentTransfers = 32
            configuration.maximumConcurrentTransfersPerHost = 32
            let store = PartialStore(disk: files, durability: .processCrash, bootID: "boot")
            let downloader = Downloader(
                configuration: configuration, transport: Engine.preferred.makeTransport(), store: store,
                time: ManualTimeSource())
            try await body(environment, downloader)
            await downloader.shutdown()
        }
    }

    @Test func `a full disk at one destination ends only its subscriber, and the bytes continue at the other`()
        async throws
    {
        var files = PretendingFileSystem(locks: .working {})
        let isFull = Flag()
        // One write fails, because the fake knows a file that was renamed by its former name.
        files.writing = { name in
            name.hasPrefix(".first.bin") && name.hasSuffix(".partial") && isFull.clear() ? .noSpace : nil
        }
        try await with(files) { environment, downloader async throws in
            let first = downloader.start(environment.request("/one", to: "first/first.bin"))
            let second = downloader.start(environment.request("/one", to: "second/second.bin"))
            try await first.progress(reaching: 2_000_000)
            isFull.set()
            environment.server.release("/one")
            let error = await EventLog(of: first).error
            #expect(error?.code == .diskFull)
            let log = await EventLog(of: second)
            #expect(log.file?.byteCount == Self.content.length, "\(log.events) \(String(describing: log.error))")
            #expect(log.restarts.isEmpty)
            #expect(try environment.holds(Self.content, at: "second/second.bin"))
            #expect((environment.server.requests(at: "/one").map(offset(of:)).last ?? 0) >= 2_000_000)
        }
    }

    @Test func `a destination that cannot be used ends only its subscriber`() async throws {
        try await with(PretendingFileSystem(locks: .working {})) { environment, downloader async throws in
            try FileManager.default.removeItem(at: environment.directory.appending(path: "first"))
            try Data().write(to: environment.directory.appending(path: "first"))
            let first = downloader.start(environment.request("/one", to: "first/first.bin"))
            let second = downloader.start(environment.request("/one", to: "second/second.bin"))
            try await second.progress(reaching: 2_000_000)
            environment.server.release("/one")
            #expect(await EventLog(of: first).error?.code == .destinationUnusable)
            #expect(await EventLog(of: second).file?.byteCount == Self.content.length)
            #expect(try environment.holds(Self.content, at: "second/second.bin"))
        }
    }

    @Test func `a body in memory continues when the disk of a file that joined it is full`() async throws {
        var files = PretendingFileSystem(locks: .working {})
        files.writing = { name in name.hasPrefix(".first.bin") ? .noSpace : nil }
        try await with(files) { environment, downloader async throws in
            let body = downloader.start(DownloadRequest(from: environment.server.url("/one"), to: .memory))
            try await body.progress(reaching: 2_000_000)
            let file = downloader.start(environment.request("/one", to: "first/first.bin"))
            #expect(await EventLog(of: file).error?.code == .diskFull)
            environment.server.release("/one")
            #expect(await EventLog(of: body).file?.data?.count == Int(Self.content.length))
            #expect(environment.server.requests(at: "/one").count == 1)
        }
    }

    @Test func `a volume that does not answer holds up no download to another one`() async throws {
        var files = PretendingFileSystem(locks: .working {})
        let hold = DispatchSemaphore(value: 0)
        let (count, waiting) = (16, Counter())
        files.refusal = { path, purpose in
            guard purpose == .new, path.contains("/first/") else { return nil }
            _ = waiting.enter()
            hold.wait()
            return nil
        }
        try await with(files) { environment, downloader async throws in
            for number in 0..<count {
                environment.server.serve(Resource(Content(seed: 62, length: 1000)), at: "/slow\(number)")
            }
            environment.server.serve(Resource(Content(seed: 62, length: 1000)), at: "/fast")
            let slow = (0..<count).map { downloader.start(environment.request("/slow\($0)", to: "first/\($0).bin")) }
            while waiting.count < count { await Task.yield() }
            #expect(
                try await downloader.download(environment.request("/fast", to: "second/fast.bin")).byteCount == 1000)
            for _ in 0..<10 * count { hold.signal() }
            for download in slow { #expect(try await download.file.byteCount == 1000) }
        }
    }

    @Test func `the bytes of a file that joined a body in memory are at the place of the file`() async throws {
        try await with(PretendingFileSystem(locks: .working {})) { environment, downloader async throws in
            let body = downloader.start(DownloadRequest(from: environment.server.url("/one"), to: .memory))
            try await body.progress(reaching: 2_000_000)
            let file = downloader.start(environment.request("/one", to: "first/first.bin"))
            let place = environment.directory.appending(path: "first")
            while try !FileManager.default.contentsOfDirectory(atPath: place.path).contains(where: {
                $0.hasSuffix(".checkpoint")
            }) {
                await Task.yield()
            }
            await downloader.shutdown()
            withExtendedLifetime((body, file)) {}
            let later = Downloader(
                configuration: environment.downloader.configuration, transport: Engine.preferred.makeTransport(),
                store: downloader.environment.store, time: ManualTimeSource())
            let restored = try await later.restore(in: place)
            #expect(restored.count == 1)
            environment.server.release("/one")
            restored.first?.resume()
            let log = await EventLog(of: try #require(restored.first))
            #expect(log.file?.byteCount == Self.content.length, "\(log.events)")
            #expect(try environment.holds(Self.content, at: "first/first.bin"))
            #expect((environment.server.requests(at: "/one").map(offset(of:)).last ?? 0) >= 2_000_000)
            await later.shutdown()
        }
    }
}

/// A flag that only one thread finds set.
private final class Flag: Sendable {
    private let value = Mutex(false)

    func set() { value.withLock { $0 = true } }

    /// Clears the flag, and returns whether it was set.
    func clear() -> Bool {
        value.withLock { value in
            defer { value = false }
            return value
        }
    }
}
