internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import batch

/// Tests of a second run over the same files, for each value of `--existing`; body bytes are counted at the server.
@Suite(.endsWhenHung)
struct ExistingOptionTests {
    private static let content = Content(seed: 7, length: 50_000)
    private static let changed = Content(seed: 8, length: 50_000)

    /// What a second run does if the server has the same file, and if it has another one.
    struct Row: Sendable, CustomTestStringConvertible {
        let option: String?
        let reason: String?
        let requests: Int
        let isFetchedAgain: Bool
        var isFetchedIfChanged = false
        var status: Int32 = 0

        var testDescription: String { option ?? "the default" }
    }

    private static let rows = [
        Row(option: nil, reason: "unchanged", requests: 1, isFetchedAgain: false, isFetchedIfChanged: true),
        Row(option: "reuse", reason: "unchanged", requests: 1, isFetchedAgain: false, isFetchedIfChanged: true),
        Row(option: "keep", reason: "exists", requests: 0, isFetchedAgain: false),
        Row(option: "replace", reason: nil, requests: 1, isFetchedAgain: true, isFetchedIfChanged: true),
        Row(option: "fail", reason: nil, requests: 0, isFetchedAgain: false, status: 1),
    ]

    private func serve(_ content: Content, _ server: LoopbackServer) {
        server.serve(Resource(content, entityTag: "\"\(content.seed)\""), at: "file.bin")
    }

    @Test(.enabled(if: Folder.hasAttributes), arguments: rows)
    func `a second run uses, keeps, replaces, or refuses the files`(_ row: Row) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                serve(Self.content, server)
                let arguments = [server.url("file.bin").absoluteString, "-d", "files", "--json"]
                #expect(try await CommandRun(arguments, in: folder).end().status == 0)
                let second = arguments + (row.option.map { ["--existing", $0] } ?? [])
                for content in [Self.content, Self.changed] {
                    serve(content, server)
                    let (requests, sent) = (server.requests().count, server.bodyBytesSent(at: "file.bin"))
                    let end = try await CommandRun(second, in: folder).end()
                    #expect(end.status == row.status, "\(end.error)")
                    let isFetched = content == Self.content ? row.isFetchedAgain : row.isFetchedIfChanged
                    #expect(server.requests().count - requests == row.requests)
                    #expect(server.bodyBytesSent(at: "file.bin") - sent == (isFetched ? content.length : 0))
                    let skipped = try end.events().first { $0["event"] as? String == "skipped" }
                    #expect(skipped?["reason"] as? String == (isFetched ? nil : row.reason))
                    if row.status != 0 {
                        #expect(try end.events().contains { $0["code"] as? String == "destinationExists" })
                    }
                    #expect(try folder.names("files") == ["file.bin"])
                    #expect(try folder.holds(isFetched ? content : Self.content, at: "files/file.bin"))
                }
            }
        }
    }
}
