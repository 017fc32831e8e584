import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Downloaders that are released without a shutdown.
@Suite(.endsWhenHung) struct DownloaderDeinitTests {
    @Test(arguments: Engine.allCases)
    func `a downloader that is released completes its transfers, then releases its engine`(
        _ engine: Engine
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "async-downloads-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let destination = directory.appending(path: "file")
        let content = Content(seed: 1, length: 10_000)
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, script: [[.stall(after: 5000)]]), at: "/file")
            let weakTransport = WeakTransport()
            do {
                let transport = engine.makeTransport()
                weakTransport.transport = transport
                let downloader = Downloader(
                    configuration: Downloader.Configuration(), transport: transport,
                    store: PartialStore(durability: .processCrash), time: SystemTimeSource())
                downloader.start(DownloadRequest(from: server.url("/file"), to: destination))
            }
            _ = await server.requests(at: "/file", reaching: 1)
            server.release("/file")
            // If the transport is not released, the test does not end, and the suite's trait reports it.
            while weakTransport.transport != nil, !Task.isCancelled { await Task.yield() }
            let data = try Data(contentsOf: destination)
            #expect(data.count == 10_000 && data.withUnsafeBytes { content.matches($0, at: 0) })
        }
    }
}

private final class WeakTransport {
    private weak var held: AnyObject?

    var transport: (any Transport)? {
        get { held as? any Transport }
        set { held = newValue as AnyObject? }
    }
}
