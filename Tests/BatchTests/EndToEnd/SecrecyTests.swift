internal import ArgumentParser
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import batch

/// Tests that the command's output contains no passwords, queries, fragments, or header values.
@Suite(.endsWhenHung)
struct SecrecyTests {
    private static let url = "http://127.0.0.1:1/x"

    /// Invalid command lines that contain a secret, which the parser rejects.
    static let misuses: [[String]] = [
        ["https://user:s3cret@"],
        ["ftp://user:s3cret@host.example/x?s3cret#s3cret"],
        ["http://user:s3cret@host.example/a\t?s3cret"],
        ["h ttp://user:s3cret@host.example/?token=s3cret"],
        ["http://user:s3cret@host.example:port/?token=s3cret"],
        ["//user:s3cret@host.example/x?s3cret"],
        ["user:s3cret@host.example/x?s3cret"],
        ["?s3cret"],
        ["s3cret"],
        [url, "s3cret", "user:s3cret"],
        [url, "--", "--s3cret"],
        [url, "--header", "Auth orization: s3cret"],
        [url, "--header", "X: s3cret\u{1}"],
        [url, "--header=Authorization Bearer s3cret"],
        [url, "--heaader=Authorization: Bearer s3cret"],
        ["--heaader", "Authorization: Bearer s3cret", url],
        [url, "-H", "Authorization: Bearer s3cret"],
        [url, "-HAuthorization: Bearer s3cret"],
        [url, "-us3cret"],
        [url, "-u", "user:s3cret"],
        [url, "-s3cret"],
        [url, "--s3cret"],
        [url, "--tokens3cret=1"],
        [url, "--checksum", "s3cret"],
        [url, "--proxy", "socks4://user:s3cret@host.example"],
        [url, "--proxy=http://user:s3cret@"],
        [url, "--client-certificate", "s3cret"],
        [url, "--checksum=sha-256=s3cret"],
        [url, "-o", "../s3cret"],
        [url, "-o", "/s3cret?token=s3cret"],
        [url, "-j", "s3cret"],
        [url, "-j", "https://user:s3cret@host.example/x?s3cret"],
        [url, "--retries", "s3cret"],
        [url, "--timeout", "s3cret"],
        [url, "--deadline=s3cret"],
        [url, "--max-bytes", "s3cret"],
        [url, "--in-use", "s3cret"],
        [url, "--engine", "s3cret"],
        [url, "--durability=s3cret"],
        [url, "--json=s3cret"],
        [url, "--quiet=s3cret"],
    ]

    /// Further ones that are run: examples of what the parser rejects, and what is found wrong outside it.
    static let misusesOfRuns: [[String]] = [
        [url, "--header", "Authorization Bearer s3cret"],
        [url, "--heaader", "Authorization: Bearer s3cret"],
        [url, "--json", "--generate-completion-script=s3cret"],
        ["-i", "http://user:s3cret@host.example/list?s3cret"],
        ["-i", "user:s3cret@host.example/list"],
        ["-i", "list?token=s3cret"],
    ]

    private static let optionNames = Batch.optionNames(of: Batch.self)

    @Test(arguments: misuses)
    func `boundary 15: the message for wrong usage contains no secret`(_ arguments: [String]) throws {
        let error = try #require(throws: (any Error).self) { try Batch.parse(arguments) }
        let message = UsageMessage(
            Batch.fullMessage(for: error), arguments: arguments, options: Self.optionNames
        ).description
        #expect(message.hasPrefix("Error: "))
        #expect(!message.contains("s3cret"), "\(message)")
    }

    @Test(arguments: misusesOfRuns)
    func `boundary 15: the output of a run with wrong usage contains no secret`(_ arguments: [String]) async throws {
        try await Folder.with { folder in
            let end = try await CommandRun(arguments, in: folder).end()
            #expect(end.status == 64, "\(end.error)")
            #expect(end.error.hasPrefix("Error: "))
            #expect(!(end.output + end.error).contains("s3cret"), "\(end.output + end.error)")
        }
    }

    @Test(arguments: [
        "http://user:s3cret@/x?s3cret", "ftp://user:s3cret@host.example/x?s3cret", "s3cret",
        "Authorization: Bearer s3cret", "URL\n  Authorization: Bearer s3cret",
        "URL\n  Authorization: Bearer s3cret=",
        "URL\n  header=Authorization Bearer s3cret", "URL\n  heaader=Authorization: Bearer s3cret",
        "URL\n  s3cret=1", "URL\n  http://user:s3cret@host.example/?token=s3cret", "URL\n  checksum=s3cret",
        "URL\n  out=../s3cret", "  header=Authorization: Bearer s3cret", "URL\n  out=a\n  out=s3cret",
    ])
    func `boundary 15: the message for an invalid manifest contains no secret`(_ text: String) async throws {
        try await Folder.with { folder in
            let input = text.replacing("URL", with: Self.url)
            let end = try await CommandRun(["-i", "-"], in: folder, input: input).end()
            #expect(end.status == 64, "\(end.error)")
            #expect(end.error.hasPrefix("Error: standard input:"))
            #expect(!(end.output + end.error).contains("s3cret"), "\(end.output + end.error)")
        }
    }

    /// Scripts of the server for a download with secrets in its URL, and the resulting exit statuses.
    static let scripts: [(name: String, script: [Step], status: Int32)] = [
        ("the download succeeds", [], 0),
        ("the request is refused", [[.status(403, body: "s3cret")], [.status(403, body: "s3cret")]], 1),
        ("the download is retried and resumed", [[.cut(after: 50_000)], [.retryAfter("0")]], 0),
        ("the request is redirected", [[.redirect(location: "/two?s3cret#s3cret")]], 0),
        ("a redirect is refused", [[.redirect(location: "ftp://user:s3cret@host.example/?s3cret")]], 1),
        ("the download restarts", [[.cut(after: 50_000)], [.ignoreRange, .entityTag("\"2\"")]], 0),
    ]

    @Test(arguments: scripts, [["--json"], ["--no-progress"], ["-q"]])
    func `boundary 15: the output of a run contains no secret`(
        _ what: (name: String, script: [Step], status: Int32), _ options: [String]
    ) async throws {
        try await LoopbackServer.withServer { server in
            let content = Content(seed: 3, length: 200_000)
            server.serve(Resource(content, entityTag: "\"1\"", script: what.script), at: "file")
            server.serve(Resource(content, entityTag: "\"1\""), at: "two")
            try await Folder.with { folder in
                let url = server.url("file?token=s3cret#s3cret").absoluteString
                let header = ["--header", "Authorization: Bearer s3cret"]
                let end = try await CommandRun([url] + header + options, in: folder).end()
                #expect(end.status == what.status, "\(end.error)")
                #expect(!(end.output + end.error).contains("s3cret"), "\(end.output + end.error)")
                if options == ["--json"] {
                    let started = try end.events().filter { $0["event"] as? String == "started" }
                    #expect(what.status != 0 || !started.isEmpty)
                    for event in started { #expect(event["url"] as? String == server.url("file").absoluteString) }
                }
            }
        }
    }

    @Test(arguments: [["--json"], ["--no-progress"], ["-q"]])
    func `boundary 15: the output contains no password of a URL`(_ options: [String]) async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(Content(seed: 3, length: 2000), entityTag: "\"1\""), at: "file")
            try await Folder.with { folder in
                let url = "http://user:s3cret@127.0.0.1:\(server.port)/file?s3cret"
                let end = try await CommandRun([url] + options, in: folder).end()
                #expect(end.status == 0, "\(end.error)")
                #expect(!(end.output + end.error).contains("s3cret"), "\(end.output + end.error)")
                #expect(!(end.output + end.error).contains("user"), "\(end.output + end.error)")
            }
        }
    }
}
