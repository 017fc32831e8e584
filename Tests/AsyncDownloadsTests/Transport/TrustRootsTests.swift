#if ServerStack
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of root certificates that are trusted in addition to the system's.
@Suite(.endsWhenHung) struct TrustRootsTests {
    private static let root = Data(Certificate.root.utf8)

    /// Runs `body` with a downloader, a TLS server that has `content` at `/file`, and a destination.
    private func withServer(
        _ content: Content = Content(seed: 1, length: 1_000_000), script: [Step] = [],
        configure: (inout Downloader.Configuration) -> Void,
        _ body: (TestEnvironment, Downloader, LoopbackServer, DownloadRequest) async throws -> Void
    ) async throws {
        var configuration = Downloader.Configuration()
        configuration.transport = .nio
        configuration.durability = .processCrash
        configuration.idleTimeout = .seconds(900)
        configuration.retryPolicy = RetryPolicy(maximumRetries: 3, baseDelay: .zero)
        configure(&configuration)
        let downloader = Downloader(configuration: configuration)
        try await LoopbackServer.withServer(isSecure: true) { server in
            server.serve(Resource(content, entityTag: "\"1\"", script: script), at: "file")
            try await TestEnvironment.with { environment in
                var request = environment.request("file")
                request.url = server.url("file")
                try await body(environment, downloader, server, request)
            }
        }
        await downloader.shutdown()
    }

    @Test func `a server whose root is missing is not trusted`() async throws {
        try await withServer(configure: { _ in }) { _, downloader, server, request async throws in
            let log = await EventLog(of: downloader.start(request))
            #expect(log.error?.code == .secureConnectionFailed)
            #expect(server.requests().isEmpty)
        }
    }

    @Test func `a server whose root was added is trusted, also for the other connections of a file`() async throws {
        let content = Content(seed: 1, length: 30 << 20)
        let roots = try TrustRoots(pem: Self.root)
        try await withServer(content, configure: { $0.additionalTrustRoots = roots }) {
            environment, downloader, _, request async throws in
            var request = request
            request.connectionCount = 4
            _ = try await downloader.download(request)
            #expect(try environment.holds(content))
        }
    }

    @Test func `a download over TLS resumes from its bytes`() async throws {
        let content = Content(seed: 1, length: 1_000_000)
        let roots = try TrustRoots(pem: Self.root)
        let script: [Step] = [[.cut(after: 400_000, .reset)]]
        try await withServer(content, script: script, configure: { $0.additionalTrustRoots = roots }) {
            environment, downloader, server, request async throws in
            let log = await EventLog(of: downloader.start(request))
            #expect(log.file != nil && log.retries == [.connectionLost] && log.resumptions.count == 1)
            #expect(server.requests(at: "file").map(\.status) == [200, 206])
            #expect(try environment.holds(content))
        }
    }

    /// More than once, because the connection is read on only if a read has begun before the pause.
    @Test(arguments: 1...2)
    func `a paused download over TLS doesn't read the rest of the response`(_ attempt: Int) async throws {
        let content = Content(seed: 1, length: 64 << 20)
        let roots = try TrustRoots(pem: Self.root)
        let script: [Step] = [[.ignoreInput, .stall(after: 1_000_000)]]
        try await withServer(content, script: script, configure: { $0.additionalTrustRoots = roots }) {
            _, downloader, server, request async throws in
            let download = downloader.start(request)
            try await download.progress(reaching: 1_000_000)
            download.pause()
            for await state in download.states where state == .paused { break }
            server.release("file")
            await server.idle(at: "file")
            #expect(server.bodyBytesSent(at: "file") < content.length)
        }
    }

    @Test func `another root doesn't make a server trusted`() async throws {
        let other = try TrustRoots(pem: Data(Self.otherRoot.utf8))
        try await withServer(configure: { $0.additionalTrustRoots = other }) {
            _, downloader, server, request async throws in
            let log = await EventLog(of: downloader.start(request))
            #expect(log.error?.code == .secureConnectionFailed)
            #expect(server.requests().isEmpty)
        }
    }

    @Test func `URLSession and background sessions refuse each request of a downloader with additional roots`()
        async throws
    {
        let roots = try TrustRoots(pem: Self.root)
        for configuration in [Downloader.Configuration(), .background(identifier: "a")] {
            try await withServer(
                configure: { own in
                    own = configuration
                    own.transport = .urlSession
                    own.additionalTrustRoots = roots
                }
            ) { environment, downloader, server, request async throws in
                let log = await EventLog(of: downloader.start(request))
                #expect(log.error?.code == .unsupported && log.error?.url == request.url)
                #expect(log.retries == [])
                #expect(server.requests().isEmpty)
                #expect(try environment.leftovers == [])
            }
        }
    }

    @Test(arguments: [
        "", "\n", "not a certificate", Certificate.key,
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        Certificate.root + "\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ])
    func `a text without certificates, or with an invalid one, is refused`(text: String) throws {
        let error = try #require(throws: DownloadError.self) { try TrustRoots(pem: Data(text.utf8)) }
        #expect(error.code == .trustRootsUnusable && !error.isRetryable)
    }

    @Test func `a file that doesn't exist is refused, and its path is not repeated`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "missing-\(UUID())")
        let error = try #require(throws: DownloadError.self) { try TrustRoots(pemFile: file) }
        #expect(error.code == .trustRootsUnusable)
        #expect(error.detail == "the file doesn't exist")
        #expect(!"\(error)".contains(file.lastPathComponent))
    }

    @Test func `a text may contain several certificates and blocks of other kinds`() throws {
        let text = ["a comment", Certificate.root, Certificate.key, Self.otherRoot].joined(separator: "\n")
        #expect(try TrustRoots(pem: Data(text.utf8)).certificates.count == 2)
    }

    /// The certificate of another authority, valid until 2126.
    private static let otherRoot = """
        -----BEGIN CERTIFICATE-----
        MIIBjzCCATWgAwIBAgIUVFakRCPs6IPsBdUyg0nsGhUVy7kwCgYIKoZIzj0EAwIw
        HDEaMBgGA1UEAwwRYW5vdGhlciB0ZXN0IHJvb3QwIBcNMjYxMTIyMjIwMDQ0WhgP
        MjEyNjEwMjkyMjAwNDRaMBwxGjAYBgNVBAMMEWFub3RoZXIgdGVzdCByb290MFkw
        EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEsoyyfbGRUoj1ZsiBFfY8YapJUjUAuG9A
        ToedZ+SUxWJ0hIlmr5ldUvkMrwLaq3wihQ7ZX77b03Pl/I9Hvh+5CaNTMFEwHQYD
        VR0OBBYEFJSDHFxN5UQcXzo20CEVHpMP/PRuMB8GA1UdIwQYMBaAFJSDHFxN5UQc
        Xzo20CEVHpMP/PRuMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIg
        DWA2cjIEqGIi9ajBKxRJuYYQgAfQYOEVXXceWPylh5oCIQDuNNLKCR+nxd1PJ24v
        s703Ejw/BALKbXEjJHCVvr2wAQ==
        -----END CERTIFICATE-----
        """
}
#endif
