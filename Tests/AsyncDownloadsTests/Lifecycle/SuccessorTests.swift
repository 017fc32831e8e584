import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// A request for a resource whose transfer is ending, and has not released its partial file yet.
@Suite(.endsWhenHung)
struct SuccessorTests {
    private static let content = Content(seed: 77, length: 300_000)

    private func serve(_ environment: TestEnvironment) {
        environment.server.serve(
            Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 200_000)]]), at: "/one")
    }

    /// No time elapses, so a request that waited as for another process would never end.
    @Test(arguments: [PartialInUsePolicy.fail, .wait], [true, false])
    func `a request that follows a discard starts anew at once`(
        _ policy: PartialInUsePolicy, _ isRunning: Bool
    ) async throws {
        try await TestEnvironment.with(configure: { $0.partialInUsePolicy = policy }) { environment async throws in
            for _ in 0..<20 {
                serve(environment)
                let request = environment.request("/one")
                let first = environment.downloader.start(request)
                try await first.progress(reaching: 100_000)
                if !isRunning {
                    first.pause()
                    for try await event in first.events { if case .paused = event { break } }
                }
                let transfer = try #require(environment.downloader.liveTransfers.first).activate()
                // Holds the removal of the bytes back until the second request has started.
                transfer.queue.suspend()
                first.discard()
                let second = environment.downloader.start(request)
                transfer.queue.resume()
                let file = try await second.file
                #expect(file.fetchedByteCount == Self.content.length)
                #expect(try environment.leftovers == ["file.bin"])
                try FileManager.default.removeItem(at: file.url)
            }
        }
    }

    @Test func `a request that waits for the end of another transfer can be canceled and shut down`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment)
            var request = environment.request("/one")
            request.partialInUsePolicy = .fail
            let first = environment.downloader.start(request)
            try await first.progress(reaching: 100_000)
            let transfer = try #require(environment.downloader.liveTransfers.first).activate()
            transfer.queue.suspend()
            first.discard()
            let (second, third) = (environment.downloader.start(request), environment.downloader.start(request))
            second.cancel()
            await #expect(throws: DownloadError.self) { try await second.file }
            third.discard()
            await #expect(throws: DownloadError.self) { try await third.file }
            // The others have ended, and the first one has not.
            let last = environment.downloader.start(request)
            transfer.queue.resume()
            #expect(try await last.file.fetchedByteCount == Self.content.length)
            try FileManager.default.removeItem(at: environment.directory.appending(path: "file.bin"))
            await environment.downloader.shutdown()
            #expect(try environment.leftovers == [])
        }
    }
}
