import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// The URL of a request, with which later requests for the same resource are compared.
@Suite(.endsWhenHung)
struct RequestURLTests {
    @Test func `a URL with a base is the same as the absolute one`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            var request = try fixture.request()
            request.url = try #require(URL(string: "one", relativeTo: fixture.url("/")))
            fixture.downloader.start(request)
            await fixture.waitUntilIdle()
            let transfer = try #require(fixture.downloader.liveTransfers.first)
            #expect(transfer.withState { $0.machine.settings.url } == (try fixture.url("/one")))
            transfer.shutDown(DownloadError(.cancelled))
        }
    }
}
