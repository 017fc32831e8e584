internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests that retries end, regardless of what a server sends.
@Suite(.endsWhenHung)
struct RetryLimitTests {
    /// The behavior of a server for each task.
    enum Server: CaseIterable {
        /// An error page, whose bytes the service reports as progress.
        case errorPage
        /// Five bytes without a validator, so that the service has no resume data.
        case noValidator
        /// Resume data with which the service always restarts at the first byte.
        case restartsAtZero
        /// One more byte for each task.
        case oneByte
        /// A request for a longer pause, forever.
        case retryAfter
    }

    /// Carries out the tasks as `server` does, and returns the delays before the tasks until the download has ended.
    private func delays(_ app: BackgroundApp, _ life: BackgroundApp.Life, _ server: Server) async throws -> [Int64] {
        var delays: [Int64] = []
        while let task = app.tasks.first, delays.count < 2_000 {
            delays.append((task.earliestBegin ?? 0) - app.time.date.secondsSinceEpoch)
            switch server {
            case .errorPage: try app.service.finish(task, status: 500)
            case .noValidator:
                try app.service.progress(task, received: 5)
                try app.service.fail(task, reason: "x", isRetryable: true)
            case .restartsAtZero, .oneByte:
                let received = server == .oneByte ? Int64(delays.count) : 5
                try app.service.progress(task, received: received)
                try app.service.fail(task, reason: "x", isRetryable: true, resumeData: Data("resume".utf8))
            case .retryAfter: try app.service.finish(task, status: 503, headers: ["Retry-After": "7"])
            }
            try await life.deliver()
        }
        return delays
    }

    @Test(arguments: Server.allCases, [true, false])
    func `background 22: retries end, and each has a delay`(server: Server, isInForeground: Bool) async throws {
        let app = try BackgroundApp()
        let life = app.launch { $0.retryPolicy = RetryPolicy(maximumRetries: 3) }
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        if !isInForeground { app.lifecycle.enterBackground() }
        let delays = try await delays(app, life, server)
        switch server {
        case .errorPage, .noValidator: #expect(delays.count == 4)
        // The first five bytes are kept, so the attempt that has received them isn't a failure.
        case .restartsAtZero: #expect(delays.count == 4)
        case .oneByte: #expect(delays.count == 31, "ten times the number of retries")
        case .retryAfter: #expect(delays.count == 14, "ten pauses, and then the retries")
        }
        #expect(delays.dropFirst().allSatisfy { $0 >= (server == .retryAfter ? 7 : 1) }, "\(delays)")
        #expect(await download.failure?.isRetryable == true)
    }

    @Test func `background 22: bytes that are kept start the count again`() async throws {
        let app = try BackgroundApp()
        let life = app.launch { $0.retryPolicy = RetryPolicy(maximumRetries: 1) }
        let download = life.downloader.start(app.request(1))
        try await life.settle()
        for received in 1...5 as ClosedRange<Int64> {
            let task = try #require(app.tasks.first, "after \(received - 1) bytes")
            try app.service.progress(task, received: received)
            try app.service.fail(task, reason: "x", isRetryable: true, resumeData: Data("resume".utf8))
            try await life.deliver()
        }
        try app.finishAll()
        try await life.deliver()
        #expect(try await download.file.byteCount == 33)
    }

    @Test func `background 22: a server that refuses every URL with a page is asked for one fresh URL`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        var request = app.request(1)
        let count = SharedValue(0)
        request.refreshURL = URLRefresh { context in
            count.withLock { $0 += 1 }
            return FreshURL(context.url.appending(queryItems: [URLQueryItem(name: "a", value: "b")]))
        }
        let download = life.downloader.start(request)
        try await life.settle()
        try app.service.finish(app.tasks[0], status: 403)
        try await life.deliver()
        while app.tasks.isEmpty { await Task.yield() }
        try app.service.finish(app.tasks[0], status: 403)
        try await life.deliver()
        #expect(await download.failure?.statusCode == 403)
        #expect(count.withLock { $0 } == 1 && app.tasks.isEmpty)
    }
}
