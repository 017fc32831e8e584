internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Cancellations and shutdowns at the moment when a queued transfer gets a consumer or a permit.
extension QueuedTransferTests {
    @Test func `a cancellation is never lost while a task begins to await a queued download`() async throws {
        try await withFullQueue { environment, held async throws in
            for number in 0..<300 {
                let download = environment.downloader.start(environment.request("file", to: "\(number)"))
                let waiting = Task.detached { await environment.result(of: download) }
                await withTaskGroup { group in
                    group.addTask { waiting.cancel() }
                }
                guard case .failure(let error) = await waiting.value else {
                    Issue.record("download \(number) was not canceled")
                    continue
                }
                #expect(error.code == .cancelled)
                #expect(download.state == .cancelled)
            }
            held.cancel()
        }
    }

    @Test func `a shutdown starts no queued download`() async throws {
        let transport = SteppedTransport()
        transport.close()
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .none
        configuration.maximumConcurrentTransfers = 1
        let directory = try TemporaryDirectory()
        let downloader = Downloader(
            configuration: configuration, transport: transport, store: PartialStore(durability: .processCrash),
            time: ManualTimeSource())
        let downloads = try (0..<500).map { number in
            let url = try #require(URL(string: "http://example.org/\(number)"))
            return downloader.start(
                DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/\(number)")))
        }
        while transport.exchanges(at: "/0").isEmpty { await Task.yield() }
        await downloader.shutdown()
        #expect(try downloads.dropFirst().allSatisfy { try $0.transfer.activeTransfer == nil })
        #expect((1..<500).allSatisfy { transport.exchanges(at: "/\($0)").isEmpty })
    }
}
