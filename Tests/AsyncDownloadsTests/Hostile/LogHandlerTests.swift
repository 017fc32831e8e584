#if !canImport(os)
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of a log backend that uses a download while a line about it is logged.
@Suite(.endsWhenHung)
struct LogHandlerTests {
    @Test func `a log handler may use the download`() async throws {
        // The backend must be installed before a downloader creates its log.
        let recorder = LogRecorder.shared
        let mark = "log-handler-\(UUID())"
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request("/\(mark)"))
            let states = Mutex<[Download.State]>([])
            recorder.whenLogged(mark) { states.withLock { $0.append(download.state) } }
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.first).end(.failed(DownloadError(.connectionLost)))
            await fixture.waitUntilIdle()
            #expect(!recorder.lines(with: mark).isEmpty)
            #expect(!states.withLock { $0 }.isEmpty)
            await fixture.finish(download, InterruptionPoint.object)
        }
    }
}
#endif
