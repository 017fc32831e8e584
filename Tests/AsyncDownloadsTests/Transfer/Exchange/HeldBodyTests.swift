import AsyncDownloads
import Foundation
import TestSupport
import Testing

/// Bodies that are held back until earlier bytes are removed.
@Suite(.endsWhenHung) struct HeldBodyTests {
    @Test func `an exchange that ends while its body is held back opens its gate`() async throws {
        let engine = AbruptEngine()
        var configuration = Downloader.Configuration()
        configuration.retryPolicy = RetryPolicy(baseDelay: .zero)
        let downloader = Downloader(
            configuration: configuration, transport: engine, store: PartialStore(durability: .processCrash),
            time: SystemTimeSource())
        let directory = FileManager.default.temporaryDirectory.appending(path: "async-downloads-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let url = try #require(URL(string: "http://localhost/file"))
        let file = try await downloader.download(from: url, to: directory.appending(path: "file"))
        await downloader.shutdown()
        #expect(file.byteCount == 10)
        #expect(engine.gateCount == 1)
        #expect(engine.shutGateCount == 0, "an engine that waits at a closed gate is never released")
    }
}

/// An engine that completes only its third exchange.
///
/// The first exchange is cut off in its body, and the second ends before the body that is held back.
private final class AbruptEngine: Transport {
    private struct State {
        var exchanges = 0
        var gates = 0
        var opened = 0
    }

    private struct Ended: Exchange {
        func cancel() {}
    }

    private let state = Mutex(State())

    var windowLength: Int64? { nil }
    var decodesContent: Bool { false }
    var gateCount: Int { state.withLock { $0.gates } }
    var shutGateCount: Int { state.withLock { $0.gates - $0.opened } }

    /// Reports everything before it returns, so the transfer performs no actions in the meantime.
    func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        let number = state.withLock { state in
            state.exchanges += 1
            return state.exchanges
        }
        let head = ResponseHead(status: StatusCode(200), headers: ["Content-Length": "10"])
        if case .notYet(let gate) = handler.exchangeReceivedHead(head) {
            state.withLock { $0.gates += 1 }
            gate.onOpen { self.state.withLock { $0.opened += 1 } }
        }
        let body = [UInt8](repeating: 1, count: number == 1 ? 5 : 10)
        switch number {
        case 1:
            _ = body.withUnsafeBytes(handler.exchangeReceivedBytes)
            handler.exchangeEnded(.failed(DownloadError(.connectionLost)))
        case 2:
            handler.exchangeEnded(.failed(DownloadError(.connectionLost)))
        default:
            _ = body.withUnsafeBytes(handler.exchangeReceivedBytes)
            handler.exchangeEnded(.complete)
        }
        return Ended()
    }

    func shutdown() async {}
}
