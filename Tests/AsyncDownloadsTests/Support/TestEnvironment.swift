import AsyncDownloads
import Foundation
import LoopbackServer
import Testing

/// A server, a directory, and a downloader for the duration of one test.
struct TestEnvironment: Sendable {
    let server: LoopbackServer
    let directory: URL
    let downloader: Downloader

    /// Runs `body` with a new environment, in which retries have no delay.
    ///
    /// Unless a test passes another clock, no time elapses, so that a busy machine is never mistaken for a silent or slow
    /// server.
    static func with(
        _ engine: Engine = .preferred, transport: (any Transport)? = nil, time: any TimeSource = ManualTimeSource(),
        network: any PathMonitor = ManualPathMonitor(),
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ body: (TestEnvironment) async throws -> Void
    ) async throws {
        var configuration = Downloader.Configuration()
        configuration.retryPolicy = RetryPolicy(maximumRetries: 3, baseDelay: .zero)
        configuration.durability = .processCrash
        configuration.progressInterval = .zero
        configuration.partialBodies = PartialBodyStore(byteLimit: 32 << 20)
        configuration.memoryPressure = .none
        configure(&configuration)
        let downloader = Downloader(
            configuration: configuration, transport: transport ?? engine.makeTransport(),
            store: PartialStore(durability: configuration.durability), time: time, network: network)
        let directory = FileManager.default.temporaryDirectory.appending(path: "async-downloads-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await LoopbackServer.withServer { server in
            do {
                try await body(TestEnvironment(server: server, directory: directory, downloader: downloader))
            } catch {
                await downloader.shutdown()
                throw error
            }
            await downloader.shutdown()
        }
    }

    /// Returns a downloader with the same configuration, as a later process would create it.
    func makeDownloader() -> Downloader {
        Downloader(
            configuration: downloader.configuration, transport: Engine.preferred.makeTransport(),
            store: PartialStore(durability: downloader.configuration.durability), time: ManualTimeSource())
    }

    /// Returns a request for `path` of the server, with a destination in the directory.
    func request(_ path: String, to name: String = "file.bin") -> DownloadRequest {
        DownloadRequest(from: server.url(path), to: directory.appending(path: name))
    }

    /// Returns the result of a request.
    func result(of request: DownloadRequest) async -> Result<DownloadedFile, DownloadError> {
        do throws(DownloadError) {
            return .success(try await downloader.download(request))
        } catch {
            return .failure(error)
        }
    }

    /// The sorted names in the directory, including hidden files.
    var leftovers: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
    }

    /// Returns whether the file `name` contains exactly `content`.
    func holds(_ content: Content, at name: String = "file.bin") throws -> Bool {
        let data = try Data(contentsOf: directory.appending(path: name), options: .mappedIfSafe)
        return Int64(data.count) == content.length && data.withUnsafeBytes { content.matches($0, at: 0) }
    }
}

extension Download {
    /// Waits until at least `count` bytes were received.
    func progress(reaching count: Int64) async throws {
        for try await event in events {
            if case .progress(let progress) = event, progress.receivedByteCount >= count { return }
        }
    }
}

/// Returns the start of a request's range, or 0 if it has none.
func offset(of request: RecordedRequest) -> Int64 {
    guard let range = request["Range"], let first = range.dropFirst("bytes=".count).split(separator: "-").first else {
        return 0
    }
    return Int64(first) ?? -1
}

/// All events of a stream, and the error that ended it.
struct EventLog: Sendable {
    var events: [DownloadEvent] = []
    var error: DownloadError?

    /// Creates a log of all events of a download.
    init(of download: Download) async {
        await self.init(download.events)
    }

    /// Creates a log of all events of a stream that may have been created earlier.
    init(_ stream: AsyncThrowingStream<DownloadEvent, any Error>) async {
        do {
            for try await event in stream { events.append(event) }
        } catch {
            self.error = error as? DownloadError
        }
    }

    var restarts: [RestartReason] {
        events.compactMap { if case .restarted(let reason, _) = $0 { reason } else { nil } }
    }

    var resumptions: [Int64] {
        events.compactMap { if case .resumed(let offset) = $0 { offset } else { nil } }
    }

    var retries: [DownloadError.Code] {
        events.compactMap { if case .retrying(_, _, let error) = $0 { error.code } else { nil } }
    }

    var file: DownloadedFile? {
        if case .finished(let file)? = events.last { file } else { nil }
    }

    /// The received byte counts, with nil for each restart.
    var receivedCounts: [Int64?] {
        events.compactMap { event -> Int64?? in
            switch event {
            case .progress(let progress): .some(progress.receivedByteCount)
            case .restarted: .some(nil)
            default: nil
            }
        }
    }
}
