internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Snapshots, which observe a download, and events, whose reader owns it.
@Suite(.endsWhenHung)
struct SnapshotTests {
    private static let content = Content(seed: 73, length: 300_000)

    private static func stall(_ environment: TestEnvironment) {
        environment.server.serve(
            Resource(content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
    }

    @Test func `updates begin with the current snapshot and end with the file`() async throws {
        try await TestEnvironment.with { environment async throws in
            Self.stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: 100_000)
            var updates = download.updates.makeAsyncIterator()
            let first = try #require(await updates.next())
            #expect(first.id == download.id && first.request == download.request)
            #expect(first.state == .downloading && first.progress.receivedByteCount == 100_000)
            #expect(first.file == nil && first.error == nil)
            download.pause()
            download.resume()
            var last = first
            while let snapshot = await updates.next() {
                #expect(snapshot != last)
                last = snapshot
            }
            #expect(last.state == .completed && last.progress.fractionCompleted == 1)
            #expect(last.file?.byteCount == Self.content.length)
            #expect(last == download.snapshot)
        }
    }

    @Test func `a failed attempt is shown with its error and the time of the next one`() async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(
            time: time,
            configure: {
                $0.retryPolicy = RetryPolicy(baseDelay: .seconds(60))
                // One of the steps of the time may come after the next request was sent.
                $0.idleTimeout = .unlimited
            }
        ) { environment async throws in
            environment.server.serve(Resource(Self.content, script: [[.status(500)], [.status(404)]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            var retrying: Download.Snapshot?
            var last: Download.Snapshot?
            for await snapshot in download.updates {
                last = snapshot
                guard snapshot.state == .retrying, snapshot.nextAttempt != nil else { continue }
                retrying = snapshot
                // The state is visible before the timer of the retry is scheduled, so that one step may come too early.
                while download.state == .retrying {
                    time.advance(by: .seconds(60))
                    await Task.yield()
                }
            }
            #expect(retrying?.error?.statusCode == 500)
            #expect(last?.state == .failed && last?.error?.statusCode == 404 && last?.nextAttempt == nil)
            #expect(last?.error?.url == download.request.url)
        }
    }

    @Test func `a reader of updates that is canceled leaves the download alone`() async throws {
        try await TestEnvironment.with { environment async throws in
            Self.stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: 100_000)
            let row = Task { for await _ in download.updates {} }
            row.cancel()
            await row.value
            #expect(download.state == .downloading)
            environment.server.release("/one")
            #expect(try await download.file.byteCount == Self.content.length)
        }
    }

    @Test(arguments: [true, false])
    func `a canceled reader of events always receives the error`(isWaiting: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            Self.stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: 100_000)
            let (reports, report) = AsyncStream.makeStream(of: Void.self)
            let reading = Task {
                for try await event in download.events {
                    guard case .progress = event else { continue }
                    report.yield()
                    // Canceled in the body of the loop, between two events.
                    if !isWaiting { while !Task.isCancelled { await Task.yield() } }
                }
            }
            for await _ in reports { break }
            reading.cancel()
            let error = await #expect(throws: DownloadError.self) { try await reading.value }
            #expect(error?.code == .cancelled && error?.retainedByteCount == 100_000)
            #expect(download.state == .cancelled)
        }
    }

    @Test func `a stream that is released, or whose loop is left, has no effect`() async throws {
        try await TestEnvironment.with { environment async throws in
            Self.stall(environment)
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: 100_000)
            _ = download.events
            for try await _ in download.events { break }
            #expect(download.state == .downloading)
            environment.server.release("/one")
            _ = try await download.file
        }
    }

    @Test func `the progress of a download that has ended doesn't change`() async throws {
        try await TestEnvironment.with { environment async throws in
            Self.stall(environment)
            let first = environment.downloader.start(environment.request("/one", to: "a.bin"))
            let second = environment.downloader.start(environment.request("/one", to: "b.bin"))
            try await first.progress(reaching: 100_000)
            second.cancel()
            environment.server.release("/one")
            _ = try await first.file
            #expect(second.snapshot.progress.receivedByteCount == 100_000)
            #expect(first.snapshot.progress.receivedByteCount == Self.content.length)
        }
    }

    @Test func `a handle starts its download again after a failure and after a cancellation`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(
                    Self.content, entityTag: "\"a\"", script: [[.status(404)], [.stall(after: 100_000)], []]),
                at: "/one")
            var request = environment.request("/one")
            request.userInfo = ["episode": "4711"]
            let download = environment.downloader.start(request)
            let id = download.id
            await #expect(throws: DownloadError.self) { try await download.file }
            download.priority = .high
            download.retry()
            #expect(environment.downloader.downloads == [download])
            try await download.progress(reaching: 100_000)
            download.retry()
            download.cancel()
            #expect(download.state == .cancelled && environment.downloader.downloads.isEmpty)
            download.retry()
            #expect(try await download.file.byteCount == Self.content.length)
            #expect(download.id == id && download.request.userInfo == ["episode": "4711"])
            download.retry()
            #expect(download.state == .completed)
            #expect(environment.server.requests(at: "/one").count == 3)
        }
    }

    @Test func `a URL that is set after a failure is used when the download is started again`() async throws {
        try await TestEnvironment.with(configure: { $0.retryPolicy = .never }) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: 100_000)]]), at: "/one")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/two")
            let download = environment.downloader.start(environment.request("/one"))
            await #expect(throws: DownloadError.self) { try await download.file }
            let two = environment.server.url("/two")
            try download.replaceURL(with: FreshURL(two, expiration: .distantFuture))
            #expect(download.state == .failed)
            download.retry()
            let events = download.events
            _ = await environment.server.requests(at: "/two", reaching: 1)
            #expect(environment.downloader.start(environment.request("/one", to: "second.bin")).isCoalesced)
            environment.server.release("/two")
            let log = await EventLog(events)
            #expect(log.file?.finalURL == two)
            #expect(log.restarts == [])
            #expect(environment.server.requests(at: "/one").count == 1)
            #expect(environment.server.requests(at: "/two").map(offset(of:)) == [100_000])
            #expect(download.request.url == environment.server.url("/one"))
        }
    }

    @Test func `the unfinished downloads of a downloader are found by their identifiers`() async throws {
        try await TestEnvironment.with { environment async throws in
            Self.stall(environment)
            let (first, second) = (
                environment.downloader.start(environment.request("/one", to: "a.bin")),
                environment.downloader.start(environment.request("/one", to: "b.bin"))
            )
            #expect(first.id != second.id && first != second)
            #expect(Set(environment.downloader.downloads) == [first, second])
            let found = try #require(environment.downloader.download(withID: second.id))
            #expect(found == second && found.request.destination == second.request.destination)
            found.cancel()
            #expect(second.state == .cancelled && first.state != .cancelled)
            #expect(environment.downloader.download(withID: second.id) == nil)
            #expect(Download.ID(second.id.description) == second.id)
            #expect(Download.ID("+" + second.id.description.dropFirst()) == nil)
        }
    }

    @Test func `the priority of a waiting download can be changed`() async throws {
        try await TestEnvironment.with(configure: { $0.maximumConcurrentTransfers = 1 }) { environment async throws in
            environment.server.serve(Resource(Self.content, script: [[.holdHead]]), at: "/one")
            for name in ["/two", "/three"] { environment.server.serve(Resource(Self.content), at: name) }
            let first = environment.downloader.start(environment.request("/one", to: "1"))
            _ = await environment.server.requests(at: "/one", reaching: 1)
            let second = environment.downloader.start(environment.request("/two", to: "2"))
            let third = environment.downloader.start(environment.request("/three", to: "3"))
            #expect(third.priority == .normal)
            third.priority = .high
            #expect(third.priority == .high && third.request.priority == .normal)
            second.pause()
            second.resume()
            environment.server.release("/one")
            _ = try await (first.file, second.file, third.file)
            #expect(environment.server.requests().map(\.path) == ["/one", "/three", "/two"])
        }
    }
}
