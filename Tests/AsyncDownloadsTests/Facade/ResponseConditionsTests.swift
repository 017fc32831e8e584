import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the conditions under which a request accepts a response (rule 66).
@Suite(.endsWhenHung)
struct ResponseConditionsTests {
    static let content = Content(seed: 91, length: 300_000)
    private static let page: Step = [
        .status(200, headers: ["Content-Type": "text/html", "ETag": "\"page\""], body: "<html>log in</html>")
    ]

    struct Refused: Error, Equatable { let number: Int }

    /// A closure that counts its calls, and can hold them back.
    final class Validation: Sendable {
        private let heads = Mutex([ResponseHead]())
        private let gate: Gate?
        private let error: Refused?

        init(throwing error: Refused? = nil, behind gate: Gate? = nil) {
            (self.error, self.gate) = (error, gate)
        }

        var count: Int { heads.withLock(\.count) }
        var statusCodes: [Int] { heads.withLock { $0.map(\.statusCode) } }

        @Sendable func validate(_ head: ResponseHead) async throws {
            heads.withLock { $0.append(head) }
            if let gate { await withCheckedContinuation { continuation in gate.onOpen { continuation.resume() } } }
            if let error { throw error }
        }

        func called() async { while count == 0 { await Task.yield() } }
    }

    func serve(
        _ environment: TestEnvironment, at path: String = "/a", type: String? = "application/zip", script: [Step] = []
    ) {
        var resource = Resource(Self.content, entityTag: "\"v1\"", script: script)
        resource.contentType = type
        environment.server.serve(resource, at: path)
    }

    @Test(
        arguments: [
            (["application/zip"], "application/zip", nil), (["image/*"], "image/png", nil), (["*/*"], "a/b", nil),
            (["IMAGE/PNG"], "image/png; q=1", nil), (["text/html"], "Text/HTML; charset=utf-8", nil),
            (["application/octet-stream"], nil, nil),
            (["application/zip"], "application/gzip", .unacceptableMediaType),
            (["application/zip"], nil, .unacceptableMediaType), (["image/*"], "imagery/png", .unacceptableMediaType),
            (["application/zip"], "text/html", .unexpectedHTML), (["a/b"], "application/xhtml+xml", .unexpectedHTML),
        ] as [([String], String?, DownloadError.Code?)])
    func `rule 66: only the accepted media types are received`(
        _ accepted: [String], _ type: String?, _ code: DownloadError.Code?
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, type: type)
            var request = environment.request("/a")
            request.acceptedMediaTypes = accepted
            let result = await environment.result(of: request)
            #expect(result.failure?.code == code)
            guard let error = result.failure else { return }
            #expect(!error.isRetryable && error.retainedByteCount == 0)
            #expect(error.response?.headers["Content-Type"] == type)
            try await environment.becomesEmpty()
            #expect(environment.server.requests(at: "/a").count == 1)
        }
    }

    /// The path, the destination, the Accept header, and whether a web page is refused.
    @Test(
        arguments: [
            ("/a", "file.zip", nil, true), ("/a.zip", "file", nil, true), ("/a.zip?x=.html", "file", nil, true),
            ("/a.ZIP", "file.bin", nil, true), ("/a.tar.gz", "file", "application/gzip, */*", true),
            ("/a", "file", nil, false), ("/a", "file.html", nil, false), ("/a.html", "file.zip", nil, false),
            ("/a.zip", "file.htm", nil, false), ("/a.php", "file.zip", nil, false), ("/a.json", "file.txt", nil, false),
            ("/a.unknown", "file", nil, false), ("/a.zip", "file.zip", "text/html;q=0.5", false),
        ] as [(String, String, String?, Bool)])
    func `rule 66: a web page is refused where the names promise another file`(
        _ path: String, _ name: String, _ accept: String?, _ isRefused: Bool
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let parts = path.split(separator: "?")
            serve(environment, at: String(parts[0]), script: [Self.page])
            var request = environment.request(path, to: name)
            request.headers["Accept"] = accept
            let error = await environment.result(of: request).failure
            #expect(error?.code == (isRefused ? .unexpectedHTML : nil))
            if isRefused { try await environment.becomesEmpty() } else { #expect(try environment.leftovers == [name]) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `boundary 22: by rule 66, a login page with an entity tag leaves a good file unchanged`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment)
            let request = environment.request("/a", to: "file.zip")
            _ = try await environment.downloader.download(request)
            serve(environment, script: [Self.page])
            #expect(await environment.result(of: request).failure?.code == .unexpectedHTML)
            #expect(try environment.holds(Self.content, at: "file.zip"))
            // The transfer removes its own files after the download has ended.
            while try environment.leftovers != ["file.zip"] { await Task.yield() }
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 66: an error of the closure arrives, and nothing is written`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment)
            for destination in [DownloadRequest.Destination.file(environment.directory.appending(path: "b")), .memory] {
                let validation = Validation(throwing: Refused(number: 5))
                var request = environment.request("/a")
                (request.destination, request.validateResponse) = (destination, validation.validate)
                let error = await environment.result(of: request).failure
                #expect(error?.code == .responseRefused && error?.underlyingError as? Refused == Refused(number: 5))
                #expect(error?.response?.url == environment.server.url("/a") && error?.isRetryable == false)
                // URLSession on Linux requests windows.
                #expect(validation.statusCodes == [200] || validation.statusCodes == [206])
                try await environment.becomesEmpty()
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 66: the closure is asked once for each object, whatever interrupts it`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let changed = Content(seed: 92, length: 200_000)
            serve(
                environment,
                script: [
                    [.cut(after: 0)], [.cut(after: 100_000)], [.cut(after: 50_000)],
                    [.replaceContent(changed, entityTag: "\"v2\"")],
                ])
            let validation = Validation()
            var request = environment.request("/a")
            request.validateResponse = validation.validate
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.file?.byteCount == changed.length && log.restarts == [.contentChanged])
            #expect(validation.count == 2)
            #expect(try environment.holds(changed))
        }
    }

    @Test func `rule 66: a later process asks about the response that continues the bytes`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, script: [[.stall(after: 100_000)]])
            let first = environment.downloader.start(environment.request("/a"))
            try await first.progress(reaching: 100_000)
            first.cancel()
            await environment.downloader.shutdown()
            let next = environment.makeDownloader()
            let validation = Validation(throwing: Refused(number: 1))
            var request = environment.request("/a")
            request.validateResponse = validation.validate
            let error = await next.start(request).failure
            #expect(error?.code == .responseRefused)
            #expect(validation.statusCodes == [206])
            #expect(error?.retainedByteCount == 100_000)
            request.validateResponse = Validation().validate
            let log = await EventLog(of: next.start(request))
            #expect(log.resumptions == [100_000])
            #expect(try environment.holds(Self.content))
            await next.shutdown()
        }
    }

    @Test func `rule 66: a download that ends while its closure is called leaves nothing`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment)
            let gate = Gate()
            let validation = Validation(behind: gate)
            var request = environment.request("/a")
            request.validateResponse = validation.validate
            let download = environment.downloader.start(request)
            await validation.called()
            download.pause()
            while download.state != .paused { await Task.yield() }
            download.resume()
            while environment.server.requests(at: "/a").count < 2 { await Task.yield() }
            download.cancel()
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .cancelled && validation.count == 1)
            gate.open()
            await environment.downloader.shutdown()
            #expect(try environment.leftovers == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 66: a connection that ends while the closure is called is made again`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment, script: [[.cut(after: 20_000, .reset)]])
            let gate = Gate()
            let validation = Validation(behind: gate)
            var request = environment.request("/a")
            request.validateResponse = validation.validate
            let download = environment.downloader.start(request)
            await validation.called()
            await environment.server.idle(at: "/a")
            gate.open()
            _ = try await download.file
            #expect(validation.count == 1)
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `a request with conditions that make no sense is refused`() async throws {
        try await TestEnvironment.with { environment async throws in
            for change: (inout DownloadRequest) -> Void in [
                { $0.acceptedMediaTypes = [] }, { $0.acceptedMediaTypes = ["zip"] }, { $0.expectedByteCount = -1 },
            ] {
                var request = environment.request("/a")
                change(&request)
                #expect(await environment.result(of: request).failure?.code == .invalidRequest)
            }
        }
    }

    @Test func `requests are equal if they have copies of the same closure`() {
        var request = DownloadRequest(from: .sample("https://a.example/x"), to: .sample("file:///x"))
        let plain = request
        request.validateResponse = { _ in }
        let copy = request
        #expect(request == copy && request != plain && request.validateResponse != nil)
        request.validateResponse = { _ in }
        #expect(request != copy)
        request.validateResponse = nil
        #expect(request == plain && request.hashValue == plain.hashValue)
    }
}

extension TestEnvironment {
    /// Waits until the transfers have closed their files, and none is left in the directory.
    ///
    /// A download that is refused ends before its transfer has removed its files.
    fileprivate func becomesEmpty() async throws {
        while try !leftovers.isEmpty { await Task.yield() }
    }
}
