internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of whole runs with a server whose certificate is signed by a private authority.
@Suite(.endsWhenHung) struct SecureServerTests {
    private let content = Content(seed: 1, length: 300_000)

    /// Runs the command for a file of a server with TLS; `root` in the folder contains the server's root certificate.
    private func run(
        _ arguments: [String], environment: [String: String] = [:], requiresClient: Bool = false,
        _ check: (CommandRun.End, Folder, LoopbackServer) throws -> Void
    ) async throws {
        try await LoopbackServer.withServer(isSecure: true, requiresClient: requiresClient) { server in
            server.serve(
                Resource(content, entityTag: "\"1\"", script: [[.cut(after: 100_000, .reset)]]), at: "file")
            try await Folder.with { folder in
                try Data(Certificate.root.utf8).write(to: folder.url("root"))
                try Data((Certificate.client + "\n" + Certificate.clientKey).utf8).write(to: folder.url("client"))
                try Data().write(to: folder.url("empty"))
                try Data(Certificate.key.utf8).write(to: folder.url("key"))
                try Data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
                    .write(to: folder.url("damaged"))
                let all = [server.url("file").absoluteString, "--timeout", "900"] + arguments
                let end = try await CommandRun(all, in: folder, environment: environment).end()
                try check(end, folder, server)
            }
        }
    }

    @Test func `without the root, the download fails before its first request, and no file remains`() async throws {
        try await run(["--json"]) { end, folder, server throws in
            #expect(end.status == 1)
            #expect(try end.failure().code == "secureConnectionFailed")
            #expect(server.requests().isEmpty)
            #expect(try folder.names() == ["client", "damaged", "empty", "key", "root"])
        }
    }

    @Test func `with the root, an interrupted download resumes and finishes`() async throws {
        try await run(["--json", "--ca-file", "root"]) { end, folder, server throws in
            #expect(end.status == 0, "\(end.error)")
            #expect(try folder.holds(content, at: "file"))
            #expect(server.requests(at: "file").map(\.status) == [200, 206])
        }
    }

    #if os(Linux)
    @Test(arguments: ["nio", "http-client"])
    func `the environment can name a file with more roots of the system`(engine: String) async throws {
        let arguments = ["--json", "--engine", engine]
        try await run(arguments, environment: ["SSL_CERT_FILE": "root"]) { end, folder, _ throws in
            #expect(end.status == 0, "\(end.error)")
            #expect(try folder.holds(content, at: "file"))
        }
        for file in ["missing", "empty", "damaged"] {
            let all = arguments + ["--ca-file", "root"]
            try await run(all, environment: ["SSL_CERT_FILE": file]) { end, _, server throws in
                #expect(end.status == 1)
                #expect(try end.failure().code == "secureConnectionFailed")
                #expect(server.requests().isEmpty)
            }
        }
    }
    #endif

    @Test func `a server that requires a certificate receives the client's`() async throws {
        let arguments = ["--json", "--ca-file", "root"]
        try await run(arguments + ["--client-certificate", "client"], requiresClient: true) { end, folder, _ throws in
            #expect(end.status == 0, "\(end.error)")
            #expect(try folder.holds(content, at: "file"))
        }
        try await run(arguments, requiresClient: true) { end, _, server throws in
            #expect(end.status == 1)
            #expect(try end.failure().code == "secureConnectionFailed")
            #expect(server.requests().isEmpty)
        }
        try await run(arguments + ["--client-certificate", "root"], requiresClient: true) { end, _, _ throws in
            #expect(end.status == 64)
            #expect(end.error.contains("'--client-certificate <file>'"), "\(end.error)")
        }
    }

    @Test(arguments: [
        ("missing", "the file doesn't exist"), ("empty", "the text is empty"), ("key", "PEM format"),
        ("damaged", "PEM format"), (".", "can't be read"),
    ])
    func `a file without certificates is wrong usage, and nothing is requested`(
        file: String, words: String
    ) async throws {
        try await run(["--ca-file", file]) { end, _, server throws in
            #expect(end.status == 64)
            #expect(end.output.isEmpty)
            #expect(end.error.contains("'--ca-file <file>'") && end.error.contains(words), "\(end.error)")
            #expect(server.requests().isEmpty)
        }
    }
}
