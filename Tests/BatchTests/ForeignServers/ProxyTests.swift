internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of whole runs through third-party proxies.
@Suite(.endsWhenHung) struct ProxyTests {
    private static let content = Content(seed: 5, length: 2_000_000)

    /// Runs the command for files of a server with and without TLS.
    ///
    /// The second response of each file is interrupted.
    private func run(
        _ arguments: [String], _ environment: [String: String],
        _ check: (CommandRun.End, Folder, [LoopbackServer]) throws -> Void
    ) async throws {
        try await LoopbackServer.withServer { plain in
            try await LoopbackServer.withServer(isSecure: true) { secure in
                for server in [plain, secure] {
                    server.serve(
                        Resource(Self.content, entityTag: "\"1\"", script: [[.cut(after: 700_000, .reset)]]), at: "file"
                    )
                }
                try await Folder.with { folder in
                    try Data(Certificate.root.utf8).write(to: folder.url("root"))
                    let urls = [plain, secure].map { $0.url("file").absoluteString }
                    let end = try await CommandRun(
                        urls + ["-d", "files", "--json", "--timeout", "900", "--ca-file", "root"] + arguments,
                        in: folder,
                        environment: environment
                    ).end()
                    try check(end, folder, [plain, secure])
                }
            }
        }
    }

    private func withProxy(_ kind: ForeignServer.Kind, _ body: (ForeignServer) async throws -> Void) async throws {
        try await Folder.with { folder in
            let proxy = try ForeignServer(kind, serving: folder.url, home: folder.url)
            defer { proxy.stop() }
            try await proxy.start()
            try await body(proxy)
        }
    }

    private func expectFiles(_ end: CommandRun.End, _ folder: Folder, _ servers: [LoopbackServer]) throws {
        #expect(end.status == 0, "\(end.error)")
        #expect(try folder.holds(Self.content, at: "files/file"))
        #expect(try folder.holds(Self.content, at: "files/file-2"))
        for server in servers { #expect(server.requests(at: "file").map(\.status) == [200, 206]) }
    }

    @Test(.enabled(if: ForeignServer.Kind.tinyproxy.isInstalled), arguments: [true, false])
    func `interrupted downloads through tinyproxy are resumed`(usesEnvironment: Bool) async throws {
        try await withProxy(.tinyproxy) { proxy in
            let address = "127.0.0.1:\(proxy.port)"
            try await run(
                usesEnvironment ? [] : ["--proxy", address],
                usesEnvironment ? ["http_proxy": "http://\(address)", "HTTPS_PROXY": address] : [:]
            ) { end, folder, servers throws in
                try expectFiles(end, folder, servers)
                #expect(servers[0].requests(at: "file").allSatisfy { $0["Via"]?.contains("tinyproxy") ?? false })
            }
        }
    }

    @Test(.enabled(if: ForeignServer.Kind.microsocks.isInstalled))
    func `interrupted downloads through microsocks are resumed`() async throws {
        try await withProxy(.microsocks) { proxy in
            try await run(["--proxy", "socks5h://user:secret@127.0.0.1:\(proxy.port)"], [:], expectFiles)
            try await run(["--proxy", "socks5h://user:wrong@127.0.0.1:\(proxy.port)"], [:]) { end, _, servers throws in
                #expect(end.status == 1)
                #expect(try end.failure().code == "proxyFailed")
                #expect(!end.output.contains("wrong") && !end.error.contains("wrong"))
                #expect(servers.allSatisfy { $0.requests().isEmpty })
            }
        }
    }

    /// Nothing listens on port 1, so a request that is sent to the proxy fails.
    @Test(
        arguments: [
            ([], ["all_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.0/8"]),
            (["--proxy", "none"], ["all_proxy": "http://127.0.0.1:1"]),
            (["--proxy", "http://127.0.0.1:1"], ["NO_PROXY": "localhost, 127.0.0.1"]),
            ([], ["HTTP_PROXY": "http://127.0.0.1:1"]),
        ] as [([String], [String: String])])
    func `hosts can be requested without the proxy`(_ arguments: [String], _ environment: [String: String]) async throws
    {
        try await run(arguments, environment, expectFiles)
    }

    @Test(arguments: ["socks4://127.0.0.1:1", "http://", "http://a b"])
    func `an address that can't be used is wrong usage`(_ address: String) async throws {
        try await run(["--proxy", address], [:]) { end, _, servers throws in
            #expect(end.status == 64)
            #expect(end.error.contains("'--proxy <url>'") && end.error.contains("socks5"), "\(end.error)")
            #expect(servers.allSatisfy { $0.requests().isEmpty })
        }
    }
}
