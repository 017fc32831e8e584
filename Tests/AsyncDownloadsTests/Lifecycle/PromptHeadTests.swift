import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// An engine that reports the head and the first bytes before it returns the exchange.
private final class PromptEngine: Transport {
    let windowLength: Int64? = nil
    let decodesContent = false

    private struct PromptExchange: Exchange {
        let handler: any ExchangeHandler

        func cancel() { handler.exchangeEnded(.cancelled) }
    }

    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        let head = ResponseHead(status: StatusCode(200), headers: ["Content-Length": "\(4 << 20)", "ETag": "\"1\""])
        _ = handler.exchangeReceivedHead(head)
        let bytes = [UInt8](repeating: 7, count: 2 << 20)
        _ = bytes.withUnsafeBytes { handler.exchangeReceivedBytes($0) }
        return PromptExchange(handler: handler)
    }

    func shutdown() async {}
}

/// Heads that arrive while the store is still busy with what was decided before the request.
@Suite("Heads that arrive at once", .endsWhenHung)
struct PromptHeadTests {
    @Test func `rule 9: the record of the bytes says that secret headers were sent`() async throws {
        let directory = try TemporaryDirectory()
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        let store = PartialStore(durability: .processCrash)
        let downloader = Downloader(
            configuration: configuration, transport: PromptEngine(), store: store, time: SystemTimeSource())
        let url = try #require(URL(string: "https://origin.example/file"))
        let request = DownloadRequest(from: url, to: URL(fileURLWithPath: "\(directory.path)/file.bin"))
        let download = downloader.startDownload(request, isRunning: false)
        try download.replaceURL(with: FreshURL(url, headers: ["Authorization": "Bearer mine"]))
        download.resume()
        for try await event in download.events {
            if case .progress(let progress) = event, progress.receivedByteCount > 0 { break }
        }
        // As after a kill: neither paused nor closed.
        let found = try store.unfinished(in: directory.path, trustsDestinations: false)
        #expect(found.allSatisfy { $0.location.request.hasSecretHeaders })
        download.cancel()
        await downloader.shutdown()
    }
}
