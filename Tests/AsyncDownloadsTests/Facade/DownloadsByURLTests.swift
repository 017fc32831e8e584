import Dispatch
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The unfinished downloads of one URL, and the commands for all of them.
@Suite(.endsWhenHung)
struct DownloadsByURLTests {
    private let url = URL.sample("https://origin.example/one")

    @Test(arguments: [
        ("https://origin.example/one", true), ("HTTPS://Origin.Example:443/one#part", true),
        ("https://origin.example/one?a=b", false), ("https://origin.example/One", false),
        ("https://origin.example/one/", false), ("https://origin.example:8443/one", false),
        ("http://origin.example/one", false), ("file:///one", false), ("one", false),
    ])
    func `a URL matches if it has the normal form of the request's URL`(_ text: String, _ matches: Bool) async throws {
        let other = try #require(URL(string: text))
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request("/one#other"))
            try fixture.downloader.start(fixture.request("/two", to: "two.bin"))
            let found = fixture.downloader.downloads(for: other)
            #expect(found.map(\.request) == (matches ? [download.request] : []))
            fixture.downloader.cancelDownloads(for: other)
            #expect(download.state == (matches ? .cancelled : .downloading))
        }
    }

    @Test func `a request in another form is found by the normal form`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            var request = try fixture.request()
            request.url = URL.sample("HTTPS://ORIGIN.example:443/one")
            fixture.downloader.start(request)
            #expect(fixture.downloader.downloads(for: url).count == 1)
        }
    }

    @Test func `all destinations, headers, accounts, and identities of a URL are found, and no other URL's`()
        async throws
    {
        try await LifecycleFixture.with { fixture async throws in
            var requests = try (0..<5).map { try fixture.request("/one", to: "\($0).bin") }
            requests[1].headers["Accept-Language"] = "de"
            requests[2].headers["Authorization"] = "Bearer secret"
            requests[3].account = "user"
            requests[4].identity = "resource"
            var elsewhere = try fixture.request("/mirror", to: "5.bin")
            elsewhere.identity = "resource"
            for request in requests + [elsewhere] { fixture.downloader.start(request) }
            #expect(fixture.downloader.downloads(for: url).map(\.request) == requests)
            #expect(fixture.downloader.downloads(for: try fixture.url("/mirror")).map(\.request) == [elsewhere])
            fixture.downloader.cancelDownloads(for: url)
            #expect(fixture.downloader.downloads(for: url).isEmpty)
            #expect(fixture.downloader.downloads(for: try fixture.url("/mirror")).count == 1)
        }
    }

    @Test func `downloads that share a transfer are returned in their order, and know whether they joined it`()
        async throws
    {
        try await LifecycleFixture.with { fixture async throws in
            let started = try (0..<3).map { fixture.downloader.start(try fixture.request("/one", to: "\($0).bin")) }
            started[1].cancel()
            let found = fixture.downloader.downloads(for: url)
            #expect(found.map(\.request) == [started[0].request, started[2].request])
            #expect(found.map(\.isCoalesced) == [false, true])
            #expect(started.map(\.isCoalesced) == [false, true, true])
        }
    }

    @Test func `a handle that was found controls the same download as the handle that was started`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let started = fixture.downloader.start(try fixture.request())
            let other = fixture.downloader.start(try fixture.request("/one", to: "other.bin"))
            try await InterruptionPoint.receiving.reach(on: fixture)
            let found = try #require(fixture.downloader.downloads(for: url).first)
            found.pause()
            #expect(started.state == .paused)
            #expect(other.state == .downloading)
            started.resume()
            #expect(found.state == .downloading)
            #expect(found.progress == started.progress)
            found.cancel()
            #expect(started.state == .cancelled)
            await fixture.finish(other, InterruptionPoint.object)
            #expect(other.state == .completed)
        }
    }

    @Test(arguments: [true, false])
    func `a download whose handle was released is found, and the found handle counts`(_ isActive: Bool) async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            if !isActive { try fixture.downloader.start(fixture.request("/first", to: "first.bin")) }
            try fixture.downloader.start(fixture.request())
            if isActive { try await InterruptionPoint.receiving.reach(on: fixture) }
            let found = try #require(fixture.downloader.downloads(for: url).first)
            found.pause()
            await fixture.endCancelled()
            await fixture.downloader.purgePaused()
            #expect(found.state == .paused, "a paused download with a handle doesn't end")
            found.resume()
            await fixture.finish(found, InterruptionPoint.object)
            #expect(found.state == .completed)
        }
    }

    @Test(arguments: [true, false])
    func `handles that were found and released by several threads leave the first handle as it was`(
        _ isActive: Bool
    ) async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            if !isActive { try fixture.downloader.start(fixture.request("/first", to: "first.bin")) }
            var download: Download? = fixture.downloader.start(try fixture.request())
            if isActive { try await InterruptionPoint.receiving.reach(on: fixture) }
            download?.pause()
            await fixture.endCancelled()
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                for _ in 0..<200 { #expect(fixture.downloader.downloads(for: url).count == 1) }
            }
            await fixture.downloader.purgePaused()
            #expect(download?.state == .paused)
            download = nil
            await fixture.downloader.purgePaused()
            #expect(fixture.downloader.downloads(for: url).isEmpty, "no handle is left, so the paused download ends")
        }
    }

    @Test func `a queued download is found and paused without a state machine`() async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            try fixture.downloader.start(fixture.request("/first", to: "first.bin"))
            let queued = fixture.downloader.start(try fixture.request())
            fixture.downloader.pauseDownloads(for: url)
            #expect(queued.state == .paused)
            fixture.downloader.resumeDownloads(for: url)
            #expect(queued.state == .waiting)
            fixture.downloader.cancelDownloads(for: url)
            #expect(queued.state == .cancelled)
            guard let transfer = queued.foregroundTransfer else {
                Issue.record("the request was refused")
                return
            }
            #expect(transfer.activeTransfer == nil)
        }
    }

    @Test func `a redirect or a replaced URL doesn't change the URL by which a download is found`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.last).refuse(302, ["Location": "/target"])
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.map(\.path) == ["/target"])
            try download.replaceURL(with: fixture.url("/fresh"))
            await fixture.endCancelled()
            #expect(fixture.transport.open.map(\.path) == ["/fresh"])
            #expect(fixture.downloader.downloads(for: try fixture.url("/target")).isEmpty)
            #expect(fixture.downloader.downloads(for: try fixture.url("/fresh")).isEmpty)
            #expect(fixture.downloader.downloads(for: url).count == 1)
        }
    }

    @Test func `downloads that have ended aren't found, and an unknown URL has none`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let finished = fixture.downloader.start(try fixture.request())
            await fixture.finish(finished, InterruptionPoint.object)
            #expect(finished.state == .completed)
            #expect(fixture.downloader.downloads(for: url).isEmpty)
            let failed = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.last).refuse(404)
            await #expect(throws: DownloadError.self) { try await failed.file }
            #expect(fixture.downloader.downloads(for: url).isEmpty)
            let canceled = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            canceled.cancel()
            #expect(fixture.downloader.downloads(for: url).isEmpty, "its exchange hasn't ended yet")
            fixture.downloader.cancelDownloads(for: url)
            fixture.downloader.pauseDownloads(for: url)
            fixture.downloader.resumeDownloads(for: url)
            #expect(finished.state == .completed)
            #expect(canceled.state == .cancelled)
        }
    }

    @Test func `canceling by URL keeps the bytes, from which the next request continues`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            try await InterruptionPoint.receiving.reach(on: fixture)
            fixture.downloader.cancelDownloads(for: url)
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .cancelled)
            #expect(error?.retainedByteCount == InterruptionPoint.byteCount)
            await fixture.endCancelled()
            #expect(try fixture.keptCounts() == [InterruptionPoint.byteCount])
            let again = fixture.downloader.start(try fixture.request())
            await fixture.finish(again, InterruptionPoint.object)
            #expect(fixture.transport.exchanges.map(\.offset) == [0, InterruptionPoint.byteCount])
        }
    }

    @Test(arguments: [true, false])
    func `stopping a running download doesn't start one of the same URL that waits`(_ cancels: Bool) async throws {
        try await LifecycleFixture.with(configure: { $0.maximumConcurrentTransfers = 1 }) { fixture async throws in
            var translated = try fixture.request("/one", to: "other.bin")
            translated.headers["Accept-Language"] = "de"
            let running = fixture.downloader.start(try fixture.request())
            let waiting = fixture.downloader.start(translated)
            try await InterruptionPoint.receiving.reach(on: fixture)
            #expect(waiting.state == .waiting)
            if cancels {
                fixture.downloader.cancelDownloads(for: url)
            } else {
                fixture.downloader.pauseDownloads(for: url)
            }
            await fixture.endCancelled()
            #expect(fixture.transport.exchanges.count == 1)
            #expect([running.state, waiting.state] == (cancels ? [.cancelled, .cancelled] : [.paused, .paused]))
        }
    }

    @Test func `pausing and resuming by URL doesn't affect another URL`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let downloads = try ["a.bin", "b.bin"].map { fixture.downloader.start(try fixture.request("/one", to: $0)) }
            let other = fixture.downloader.start(try fixture.request("/two", to: "two.bin"))
            await fixture.waitUntilIdle()
            fixture.downloader.pauseDownloads(for: url)
            await fixture.endCancelled()
            #expect(downloads.map(\.state) == [.paused, .paused])
            #expect(other.state == .downloading)
            other.pause()
            await fixture.endCancelled()
            fixture.downloader.resumeDownloads(for: url)
            await fixture.waitUntilIdle()
            #expect(downloads.map(\.state) == [.downloading, .downloading])
            #expect(other.state == .paused)
        }
    }

    @Test func `after a shutdown, no download is found`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let download = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            fixture.transport.close()
            await fixture.downloader.shutdown()
            #expect(fixture.downloader.downloads(for: url).isEmpty)
            #expect(download.state == .failed)
        }
    }
}
