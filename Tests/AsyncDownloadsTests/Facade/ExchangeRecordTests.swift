import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The measurements of requests.
@Suite(.endsWhenHung)
struct ExchangeRecordTests {
    private static let content = Content(seed: 97, length: 300_000)

    private func measure(
        _ engine: Engine = .preferred, _ body: (TestEnvironment, @Sendable () -> [ExchangeRecord]) async throws -> Void
    ) async throws {
        let records = Mutex<[ExchangeRecord]>([])
        try await TestEnvironment.with(
            engine, configure: { $0.onExchange = { record in records.withLock { $0.append(record) } } }
        ) { environment async throws in
            try await body(environment) { records.withLock { $0 } }
        }
    }

    @Test(arguments: Engine.allCases)
    func `each request is reported once, with what it brought`(_ engine: Engine) async throws {
        try await measure(engine) { environment, records in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.status(500)], [.cut(after: 100_000)]]), at: "/a")
            _ = try await environment.downloader.download(environment.request("/a"))
            let records = records()
            #expect(records.map(\.statusCode) == environment.server.requests(at: "/a").map(\.status))
            #expect(records.count >= 3)
            #expect(records.map(\.url) == records.map { _ in environment.server.url("/a") })
            #expect(records.first?.statusCode == 500 && records.first?.reason == .start)
            #expect(records.prefix(2).map(\.attempt) == [1, 2])
            #expect(records[1].reason == .start && records[1].errorCode == .connectionLost)
            #expect(records[2].reason == .continuation && records[2].offset > 0)
            let last = try #require(records.last)
            #expect(last.statusCode == 206 && last.errorCode == nil && last.timeToHead != nil)
            #expect(last.offset + last.byteCount == Self.content.length)
        }
    }

    @Test func `a redirect is followed over the same connection`() async throws {
        try await measure { environment, records in
            environment.server.serve(Resource(Self.content, script: [[.redirect(location: "/b?s3cret")]]), at: "/a")
            environment.server.serve(Resource(Self.content), at: "/b")
            var request = environment.request("/a")
            request.url.append(queryItems: [URLQueryItem(name: "signature", value: "s3cret")])
            _ = try await environment.downloader.download(request)
            let records = records()
            #expect(records.map(\.reason) == [.start, .redirect] && records.map(\.statusCode) == [302, 200])
            #expect(records.map(\.url) == ["/a", "/b"].map { environment.server.url($0) })
            #expect(records.map(\.isConnectionReused) == [false, true])
            #expect(records.map(\.protocolName) == ["http/1.1", "http/1.1"])
            #expect(records.map(\.attempt) == [1, 1] && records.last?.byteCount == Self.content.length)
        }
    }

    @Test func `a download that is canceled reports its request`() async throws {
        try await measure { environment, records in
            environment.server.serve(Resource(Self.content, script: [[.stall(after: 100_000)]]), at: "/a")
            let download = environment.downloader.start(environment.request("/a"))
            try await download.progress(reaching: 100_000)
            download.cancel()
            await environment.downloader.shutdown()
            #expect(records().map(\.errorCode) == [.cancelled] && records().map(\.byteCount) == [100_000])
        }
    }

    @Test func `a host that can't be reached has no response`() async throws {
        try await measure { environment, records in
            var request = DownloadRequest(
                from: .sample("http://127.0.0.1:1/a"), to: environment.directory.appending(path: "file"))
            request.retryPolicy = .never
            #expect(await environment.result(of: request).failure?.code == .cannotConnect)
            let record = try #require(records().first)
            #expect(records().count == 1 && record.errorCode == .cannotConnect)
            #expect(record.statusCode == nil && record.timeToHead == nil && record.isConnectionReused == nil)
        }
    }
}
