internal import Crypto
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of whole runs, from the arguments to the exit status.
@Suite(.endsWhenHung) struct CommandTests {
    /// The result of a run.
    private struct Outcome {
        let end: CommandRun.End
        /// The visible files by their paths.
        let files: [String: [UInt8]]
        let requests: [RecordedRequest]
        let port: Int
    }

    private let content = Content(seed: 1, length: 100_000)
    private var bytes: [UInt8] { content.bytes(in: 0..<content.length) }

    /// Runs the command with a server, `SERVER` in the arguments and the input, that has `content` at `/file`.
    private func run(_ arguments: [String], input: String = "") async throws -> Outcome {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, entityTag: "\"1\""), at: "file")
            func filled(_ text: String) -> String { text.replacing("SERVER", with: "http://127.0.0.1:\(server.port)") }
            return try await Folder.with { folder in
                let end = try await CommandRun(arguments.map(filled), in: folder, input: filled(input)).end()
                return Outcome(
                    end: end, files: try folder.files(), requests: server.requests(at: "file"), port: server.port)
            }
        }
    }

    @Test func `the directory is created, and the file has the name from its URL`() async throws {
        let outcome = try await run(["SERVER/file?x=1", "-d", "new/dir"])
        #expect(outcome.end.status == 0)
        #expect(outcome.end.output.isEmpty)
        #expect(outcome.end.error.contains("started   file, 97.7 KiB\n"))
        #expect(outcome.end.error.contains("finished  file, 97.7 KiB in "))
        #expect(outcome.end.error.contains("1 of 1 file finished, 97.7 KiB in "))
        #expect(outcome.files == ["new/dir/file": bytes])
    }

    @Test(arguments: ["http-client", "urlsession"])
    func `each engine downloads a file`(engine: String) async throws {
        let outcome = try await run(["SERVER/file", "-o", "sub/name", "--engine", engine, "-q"])
        #expect(outcome.end.status == 0)
        #expect(outcome.end.error.isEmpty)
        #expect(outcome.files == ["sub/name": bytes])
    }

    @Test func `with -q, a failure is shown without the URL's query, and the exit status is 1`() async throws {
        let outcome = try await run(["SERVER/missing?token=secret", "SERVER/file", "-q"])
        #expect(outcome.end.status == 1)
        #expect(outcome.end.output.isEmpty)
        #expect(outcome.end.error.hasPrefix("failed    httpStatus (404)"))
        #expect(outcome.end.error.contains("[http://127.0.0.1:\(outcome.port)/missing]"))
        #expect(!outcome.end.error.contains("secret"))
        #expect(outcome.files == ["file": bytes])
    }

    @Test func `a download with a wrong checksum fails and leaves no file`() async throws {
        let wrong = "sha-256=" + String(repeating: "0", count: 64)
        let outcome = try await run(["SERVER/file", "--checksum", wrong])
        #expect(outcome.end.status == 1)
        #expect(outcome.end.error.contains("failed    checksumMismatch"))
        #expect(outcome.files.isEmpty)
    }

    @Test(arguments: [["-x"], ["-d", "dir"], ["-i", "missing"], ["-i", "-"]])
    func `wrong usage exits with 64`(arguments: [String]) async throws {
        let outcome = try await run(arguments, input: "# wrong\r\n  out=a\r\n")
        #expect(outcome.end.status == 64)
        #expect(outcome.end.output.isEmpty)
        #expect(outcome.end.error.hasPrefix("Error: "))
        if arguments == ["-i", "-"] { #expect(outcome.end.error.contains("standard input:2: ")) }
    }

    @Test func `a manifest determines outputs, digests, and headers`() async throws {
        let digest = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
        let manifest = """
            # Two outputs.
            SERVER/file
              out=a/one
              checksum=sha-256=\(digest)
              header=X-Own: 1
            SERVER/file
              out=two
            """
        let outcome = try await run(["-i", "-", "-d", "files", "-j", "1", "--header", "X-All: 2"], input: manifest)
        #expect(outcome.end.status == 0, "\(outcome.end.error)")
        #expect(outcome.files == ["files/a/one": bytes, "files/two": bytes])
        #expect(outcome.requests.map { $0["X-Own"] } == ["1", nil])
        #expect(outcome.requests.allSatisfy { $0["X-All"] == "2" })
    }

    @Test func `a run with an empty manifest succeeds immediately`() async throws {
        let end = try await run(["-i", "-", "--json"]).end
        #expect(end.status == 0)
        #expect(try end.events().compactMap { $0["event"] as? String } == ["summary"])
    }

    @Test func `hundreds of downloads with a small window end once each`() async throws {
        let manifest = (0..<300).map { "SERVER/file?\($0)\n  out=\($0)\n" }.joined()
        let outcome = try await run(
            ["-i", "-", "-j", "2", "--json", "--durability", "process-crash"], input: manifest)
        #expect(outcome.end.status == 0, "\(outcome.end.error)")
        let finished = try outcome.end.events().filter { $0["event"] as? String == "finished" }
        #expect(Set(finished.compactMap { $0["id"] as? Int }) == Set(0..<300))
        #expect(finished.count == 300)
        #expect(outcome.files.count == 300)
        #expect(outcome.files["299"] == bytes)
    }
}
