internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of whole runs over each engine, and with a small window; `ContractTests` has the options.
@Suite(.endsWhenHung) struct CommandTests {
    /// The result of a run.
    private struct Outcome {
        let end: CommandRun.End
        /// The visible files by their paths.
        let files: [String: [UInt8]]
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
                return Outcome(end: end, files: try folder.files())
            }
        }
    }

    @Test(arguments: ["http-client", "urlsession"])
    func `each engine downloads a file`(engine: String) async throws {
        let outcome = try await run(["SERVER/file", "-o", "sub/name", "--engine", engine, "-q"])
        #expect(outcome.end.status == 0)
        #expect(outcome.end.error.isEmpty)
        #expect(outcome.files == ["sub/name": bytes])
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
