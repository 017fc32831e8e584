import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Tests of fresh URLs after interruptions: only the refusal of a fresh URL is final, and an expiration stays known.
@Suite(.endsWhenHung)
struct RefusedURLTests {
    private static let content = Content(seed: 76, length: 200_000)
    private static let refused: Step = [.status(403)]
    /// After the head, because engines repeat a request on their own if a kept connection ends before.
    private static let lost: Step = [.cut(after: 0)]

    /// Serves a path whose responses follow a script, and are complete or repeated after it.
    private func serve(_ environment: TestEnvironment, _ path: String, _ script: [Step], repeating: Bool = false) {
        var resource = Resource(Self.content, entityTag: "\"a\"", script: script)
        resource.repeatsLastStep = repeating
        environment.server.serve(resource, at: path)
    }

    /// Returns a request for a refused URL, which is refreshed to `/1`, `/2` and so on, and the number of refreshes.
    private func request(_ environment: TestEnvironment) -> (DownloadRequest, count: @Sendable () -> Int) {
        serve(environment, "/signed", [Self.refused], repeating: true)
        let numbers = Counter()
        let server = environment.server
        var request = environment.request("/signed")
        request.refreshURL = URLRefresh { _ in FreshURL(server.url("/\(numbers.enter())")) }
        return (request, { numbers.count })
    }

    @Test(arguments: Engine.allCases)
    func `a pause during a refresh leaves the next refusal to another one`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment, "/signed", [Self.refused], repeating: true)
            serve(environment, "/fresh", [])
            let (calls, canceled) = (Counter(), AsyncStream<Void>.makeStream())
            let fresh = environment.server.url("/fresh")
            var request = environment.request("/signed")
            let begun = AsyncStream<Void>.makeStream()
            request.refreshURL = URLRefresh { _ in
                if calls.enter() == 1 {
                    begun.continuation.yield()
                    // The pause cancels the refresh.
                    for await _ in canceled.stream {}
                    try Task.checkCancellation()
                }
                return FreshURL(fresh)
            }
            let download = environment.downloader.start(request)
            for await _ in begun.stream { break }
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            download.resume()
            #expect(try await download.file.finalURL == fresh)
            #expect(calls.count == 2)
        }
    }

    @Test func `after a lost connection, a refused URL is refreshed again`() async throws {
        try await TestEnvironment.with { environment async throws in
            let (request, count) = request(environment)
            serve(environment, "/1", [Self.lost, Self.refused])
            serve(environment, "/2", [])
            let file = try await environment.downloader.download(request)
            #expect(file.finalURL == environment.server.url("/2") && count() == 2)
        }
    }

    @Test func `lost connections and refusals in turn use up the retries`() async throws {
        try await TestEnvironment.with { environment async throws in
            let (request, count) = request(environment)
            for number in 1...10 { serve(environment, "/\(number)", [Self.lost, Self.refused]) }
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.download(request)
            }
            #expect(error?.code == .connectionLost, "\(String(describing: error))")
            // Three retries, and the first attempt.
            #expect(count() == 4)
        }
    }

    @Test func `the expiration of a restored download's URL is respected`() async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(time: time) { environment async throws in
            serve(environment, "/signed", [[.stall(after: 80_000)]])
            serve(environment, "/fresh", [])
            try await environment.leave(environment.request("/signed"), at: 80_000)
            let (fresh, date) = (environment.server.url("/fresh"), time.date)
            let restored = try await environment.downloader.restore(in: environment.directory) { request in
                request.urlExpiration = Date(timeIntervalSince1970: Double(date.secondsSinceEpoch) + 60)
                request.refreshURL = URLRefresh { context in
                    #expect(context.reason == .expired && context.receivedByteCount == 80_000)
                    return FreshURL(fresh)
                }
            }
            let download = try #require(restored.first)
            time.advance(by: .seconds(61))
            download.resume()
            #expect(try await download.file.finalURL == fresh)
            #expect(environment.server.requests(at: "/signed").count == 1)
            #expect(environment.server.requests(at: "/fresh").map(offset(of:)) == [80_000])
        }
    }

    @Test(arguments: [Date(timeIntervalSince1970: .infinity), Date(timeIntervalSince1970: -.infinity), .distantPast])
    func `no expiration ends the process`(_ date: Date) async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, "/fresh", [])
            let fresh = environment.server.url("/fresh")
            var request = environment.request("/fresh")
            request.urlExpiration = date
            request.refreshURL = URLRefresh { _ in FreshURL(fresh, expiration: date) }
            #expect(try await environment.downloader.download(request).finalURL == fresh)
        }
    }
}
