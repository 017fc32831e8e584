internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests that queries, user information, and credentials are sent to the server only.
@Suite(.endsWhenHung)
struct SecrecyTests {
    private let content = Content(seed: 25, length: 300_000)
    private static let headers: AsyncDownloads.HeaderFields = [
        "Authorization": "Bearer s3cret-a", "Cookie": "id=s3cret-b", "Proxy-Authorization": "Basic s3cret-c",
        "X-Own": "kept",
    ]

    /// The failures of a download with a signed URL.
    static let failures: [(String, [Step], DownloadError.Code)] = [
        ("a status", [[.status(403, body: "s3cret body")]], .httpStatus),
        ("not HTTP", [[.garbage]], .connectionLost),
        ("no response", [[.closeBeforeHead(.reset)]], .connectionLost),
        ("a truncated head", [[.closeInsideHead(afterBytes: 20)]], .connectionLost),
        ("a huge head", [[.hugeHeader(bytes: 1 << 20)]], .connectionLost),
        ("a truncated body", [[.cut(after: 0)]], .connectionLost),
        ("an invalid length", [[.header("Content-Length", "s3cret")]], .connectionLost),
        ("another scheme", [[.redirect(location: "ftp://s3cret.example/s3cret?s3cret")]], .redirectRefused),
        ("a redirect with a password", [[.redirect(location: "http://u:s3cret@127.0.0.1/")]], .redirectRefused),
        ("a redirect to a missing resource", [[.redirect(location: "/missing?s3cret#s3cret")]], .httpStatus),
        ("a redirect loop", [[.redirect(location: "/one?s3cret")]], .tooManyRedirects),
        ("another digest", [[]], .checksumMismatch),
        ("a body that is too large", [[]], .bodyTooLarge),
    ]

    @Test(arguments: Engine.allCases, failures)
    func `no text of an error or an event contains a secret`(
        _ engine: Engine, _ failure: (name: String, script: [Step], code: DownloadError.Code)
    ) async throws {
        // A truncated head ends the process in swift-corelibs-foundation before 6.4.
        if engine == .urlSession, failure.name == "a truncated head" { return }
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(content, entityTag: "\"a\"", script: failure.script)
            resource.repeatsLastStep = true
            environment.server.serve(resource, at: "/one")
            var request = environment.request("/one?token=s3cret&X-Amz-Signature=s3cret#s3cret")
            request.headers = Self.headers
            if failure.code == .checksumMismatch { request.checksum = .sha256(String(repeating: "0", count: 64)) }
            if failure.code == .bodyTooLarge { request.maximumByteCount = 1000 }
            let log = await EventLog(of: environment.downloader.start(request))
            let error = try #require(log.error)
            // Not every engine distinguishes these failures.
            let codes = failure.code == .connectionLost ? [failure.code, .malformedResponse] : [failure.code]
            #expect(codes.contains(error.code), "\(error)")
            let unsafe: any Error = error
            var texts = [
                "\(error)", error.description, String(reflecting: error), error.localizedDescription, "\([error])",
                "\(unsafe)", String(reflecting: unsafe), unsafe.localizedDescription,
                "\(Result<Void, DownloadError>.failure(error))", "\(request)", String(reflecting: request),
                "\([request])", "\(request.headers)",
            ]
            texts += everyText(of: error) + everyText(of: error.underlyingError as Any) + everyText(of: request)
            texts += log.events.flatMap { everyText(of: $0) }
            for text in texts { #expect(!text.contains("s3cret"), "\(text)") }
            #expect(error.description.contains("[http://127.0.0.1:\(environment.server.port)/one]"))
        }
    }

    @Test(arguments: Engine.allCases)
    func `no text of a finished file contains a secret`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(content, script: [[.redirect(location: "/two?s3cret")]]), at: "/one")
            environment.server.serve(Resource(content, entityTag: "\"a\""), at: "/two")
            let log = await EventLog(of: environment.downloader.start(environment.request("/one?s3cret")))
            let file = try #require(log.file)
            #expect(file.finalURL.query() == "s3cret", "the caller may need it")
            let texts = log.events.flatMap { everyText(of: $0) } + everyText(of: file)
            for text in texts { #expect(!text.contains("s3cret"), "\(text)") }
        }
    }

    @Test(arguments: [
        "https://127.0.0.1:PORT/x?s3cret", "http://s3cret.invalid/x?s3cret", "http://127.0.0.1:1/x?s3cret",
    ])
    func `no text of an error without a response contains a secret`(_ text: String) async throws {
        for engine in Engine.allCases {
            try await TestEnvironment.with(engine, configure: { $0.retryPolicy = .never }) { environment async throws in
                let url = try #require(URL(string: text.replacing("PORT", with: "\(environment.server.port)")))
                let request = DownloadRequest(from: url, to: environment.directory.appending(path: "file.bin"))
                let error = try #require(await EventLog(of: environment.downloader.start(request)).error)
                // The host isn't secret, but the query is.
                let texts = everyText(of: error) + everyText(of: error.underlyingError as Any)
                for text in texts + [error.localizedDescription] {
                    #expect(!text.contains("?") && !text.contains("x?s3cret"), "\(text)")
                }
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `credentials are never written to disk, and files are accessible only to their owner`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.cut(after: 100_000)]]), at: "/one")
            var request = environment.request("/one?signature=of-the-url")
            request.headers = Self.headers
            request.retryPolicy = .never
            let error = await EventLog(of: environment.downloader.start(request)).error
            #expect(error?.retainedByteCount == 100_000)
            let names = try environment.leftovers
            #expect(names.count == 3)
            var checkpoint = Data()
            for name in names {
                let path = environment.directory.appending(path: name).path
                let bytes = try #require(FileManager.default.contents(atPath: path))
                #expect(bytes.range(of: Data("s3cret".utf8)) == nil, "\(name)")
                #expect(!name.contains("signature"))
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600, "\(name)")
                if name.hasSuffix(".checkpoint") { checkpoint = bytes }
            }
            // The query is recorded, because the download couldn't be requested again without it.
            #expect(checkpoint.range(of: Data("signature=of-the-url".utf8)) != nil)
        }
    }

    #if !canImport(os)
    @Test(arguments: Engine.allCases)
    func `no line of the log contains a secret`(_ engine: Engine) async throws {
        let recorder = LogRecorder.shared
        // The server of another test may have had the same port.
        let path = "/logged-with-\(engine.rawValue)"
        try await TestEnvironment.with(engine) { environment async throws in
            let changed = Fault.replaceContent(Content(seed: 26, length: 300_000), entityTag: "\"s3cret\"")
            let script: [Step] = [[.cut(after: 100_000)], [.retryAfter("0")], [changed]]
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: script), at: path)
            var request = environment.request("\(path)?token=s3cret")
            request.headers = Self.headers
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.restarts == [.contentChanged])
            let lines = recorder.lines(with: "http://127.0.0.1:\(environment.server.port)\(path)")
            #expect(lines.count == 4, "two retries, a restart, and the end: \(lines)")
            for line in lines { #expect(!line.contains("s3cret") && !line.contains("\n"), "\(line)") }
        }
    }
    #endif
}
