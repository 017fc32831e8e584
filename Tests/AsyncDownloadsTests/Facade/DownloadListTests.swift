internal import Foundation
internal import LoopbackServer
internal import Observation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The list of downloads for a user interface.
@Suite(.endsWhenHung)
struct DownloadListTests {
    private static let content = Content(seed: 75, length: 300_000)

    /// Observes a property as a view does: each change is followed by another observation.
    @MainActor
    private final class View {
        private let item: DownloadItem
        private(set) var shown: Download.Snapshot?

        init(_ item: DownloadItem) {
            self.item = item
            render()
        }

        private func render() {
            withObservationTracking {
                shown = item.snapshot
            } onChange: { [weak self] in
                Task { @MainActor in self?.render() }
            }
        }
    }

    /// Observes 300 downloads for each seed.
    @Test(arguments: Seeds.first(1))
    func `a view that observes an item shows the final snapshot, each time`(seed: UInt64) async throws {
        try await SimulatedFixture.with(reply: { _, _ in .response(404) }) { fixture async throws in
            try await showAll(fixture, seed)
        }
    }

    @Test func `items are added once, restored, and removed with their bytes`() async throws {
        try await TestEnvironment.with { environment async throws in try await addRestoreAndRemove(environment) }
    }

    @Test func `an item whose download has failed is removed with its bytes`() async throws {
        try await TestEnvironment.with(configure: { $0.retryPolicy = .never }) { environment async throws in
            try await removeFailed(environment)
        }
    }

    @Test func `an item follows its download when it is started again`() async throws {
        try await TestEnvironment.with { environment async throws in try await retry(environment) }
    }

    @Test func `all downloads of a list are paused and resumed`() async throws {
        try await TestEnvironment.with(configure: { $0.maximumConcurrentTransfers = 1 }) { environment async throws in
            try await pauseAndResume(environment)
        }
    }

    @MainActor
    private func showAll(_ fixture: SimulatedFixture, _ seed: UInt64) async throws {
        let list = DownloadList(downloader: fixture.downloader)
        let views = (0..<300).map {
            View(list.add(fixture.request("https://a.example/\(seed)/\($0)")))
        }
        for view in views {
            while view.shown?.state.isFinal != true { await Task.yield() }
            #expect(view.shown?.error?.statusCode == 404)
        }
    }

    @MainActor
    private func addRestoreAndRemove(_ environment: TestEnvironment) async throws {
        environment.server.serve(
            Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
        let first = DownloadList(downloader: environment.downloader)
        let item = first.add(environment.request("/one"))
        #expect(first.add(item.download) === item && first.items.count == 1)
        #expect(first[item.id] === item)
        try await item.download.progress(reaching: 100_000)
        await environment.downloader.shutdown()

        let next = environment.makeDownloader()
        let list = DownloadList(downloader: next)
        try await list.restore(in: environment.directory)
        #expect(list.items.map(\.id) == [item.id])
        let restored = try #require(list.items.first)
        #expect(restored.snapshot.state == .paused)
        list.remove(atOffsets: [0, 5])
        #expect(list.items.isEmpty)
        while restored.download.state != .cancelled { await Task.yield() }
        await next.shutdown()
        let last = environment.makeDownloader()
        #expect(try await last.restore(in: environment.directory).isEmpty)
        await last.shutdown()
    }

    @MainActor
    private func removeFailed(_ environment: TestEnvironment) async throws {
        environment.server.serve(
            Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: 100_000)]]), at: "/one")
        let list = DownloadList(downloader: environment.downloader)
        let item = list.add(environment.request("/one"))
        while item.snapshot.state != .failed { await Task.yield() }
        #expect(item.snapshot.error?.retainedByteCount == 100_000)
        // The failed item isn't restored as another download, which would share the bytes.
        try await list.restore(in: environment.directory)
        #expect(list.items.count == 1 && environment.downloader.downloads.isEmpty)
        list.remove(item)
        await environment.downloader.shutdown()
        let next = environment.makeDownloader()
        #expect(try await next.restore(in: environment.directory).isEmpty)
        #expect(try environment.leftovers == [])
        await next.shutdown()
    }

    @MainActor
    private func retry(_ environment: TestEnvironment) async throws {
        environment.server.serve(Resource(Self.content, script: [[.status(404)], []]), at: "/one")
        let list = DownloadList(downloader: environment.downloader)
        let item = list.add(environment.request("/one"))
        while item.snapshot.state != .failed { await Task.yield() }
        item.retry()
        while item.snapshot.state != .completed { await Task.yield() }
        #expect(item.snapshot.file?.byteCount == Self.content.length)
    }

    @MainActor
    private func pauseAndResume(_ environment: TestEnvironment) async throws {
        environment.server.serve(
            Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
        environment.server.serve(Resource(Self.content), at: "/two")
        let list = DownloadList(downloader: environment.downloader)
        let items = [
            list.add(environment.request("/one", to: "1")), list.add(environment.request("/two", to: "2")),
        ]
        try await items[0].download.progress(reaching: 100_000)
        list.pauseAll()
        for item in items { while item.snapshot.state != .paused { await Task.yield() } }
        #expect(environment.server.requests(at: "/two").isEmpty)
        list.resumeAll()
        for item in items { while item.snapshot.state != .completed { await Task.yield() } }
    }
}
