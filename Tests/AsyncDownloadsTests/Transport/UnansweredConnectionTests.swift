#if ServerStack && os(Linux)
import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// A server to which connections are established, and that never answers: no handshake of TLS is completed.
@Suite(.endsWhenHung)
struct UnansweredConnectionTests {
    /// The engines whose attempts to connect end after an hour.
    private static let makeTransport: [@Sendable () -> any Transport] = [
        { HTTPClientTransport(connectTimeout: .seconds(3600)) }, { NIOTransport(connectTimeout: .seconds(3600)) },
    ]

    @Test(arguments: makeTransport.indices)
    func `a cancellation says that no connection was established`(_ index: Int) async throws {
        let listener = try ListeningSocket()
        defer { close(listener.descriptor) }
        let recorder = BodyRecorder()
        let request = ExchangeRequest(url: try listener.url("https"), headers: [:])
        let transport = Self.makeTransport[index]()
        let exchange = transport.start(request, beside: nil, handler: recorder)
        await listener.waitForConnection()
        exchange.cancel()
        #expect(await recorder.result() == "cancelledWhileConnecting")
        await transport.shutdown()
    }

    @Test(arguments: makeTransport.indices)
    func `a shutdown does not wait for an attempt to connect`(_ index: Int) async throws {
        let listener = try ListeningSocket()
        defer { close(listener.descriptor) }
        let directory = try TemporaryDirectory()
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .none
        configuration.idleTimeout = .unlimited
        let downloader = Downloader(
            configuration: configuration, transport: Self.makeTransport[index](),
            store: PartialStore(durability: .processCrash), time: ManualTimeSource())
        let download = downloader.start(
            DownloadRequest(from: try listener.url("https"), to: URL(fileURLWithPath: "\(directory.path)/file.bin")))
        await listener.waitForConnection()
        await downloader.shutdown()
        let error = await #expect(throws: DownloadError.self) { try await download.file }
        #expect(error?.code == .shutDown)
        #expect(try directory.contents == [])
    }
}
#endif
