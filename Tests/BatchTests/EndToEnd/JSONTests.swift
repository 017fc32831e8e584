internal import Crypto
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of the events that `--json` writes for whole runs.
@Suite(.endsWhenHung) struct JSONTests {
    private let content = Content(seed: 2, length: 200_000)

    @Test func `the events of a run begin with its start and end with its summary`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(
                Resource(content, entityTag: "\"1\"", script: [[.cut(after: 50_000)], [.retryAfter("0")]]), at: "file")
            try await Folder.with { folder in
                let end = try await CommandRun([server.url("file?k=v").absoluteString, "--json"], in: folder).end()
                #expect(end.status == 0)
                #expect(end.error.isEmpty)
                let events = try end.events()
                let schema = try JSONSchema.ofEvents()
                for event in events { #expect(try schema.accepts(event), "\(event)") }
                let names = events.compactMap { $0["event"] as? String }
                #expect(
                    names.filter { $0 != "progress" } == [
                        "started", "retrying", "retrying", "resumed", "finished", "summary",
                    ])
                let times = events.compactMap { $0["time"] as? Double }
                #expect(times.count == events.count)
                #expect(times == times.sorted())
                #expect(events.first?["url"] as? String == server.url("file").absoluteString)
                #expect(events.first { $0["event"] as? String == "resumed" }?["offset"] as? Int == 50_000)
                let finished = try #require(events.dropLast().last)
                #expect(finished["path"] as? String == folder.url("file").path)
                #expect(finished["bytes"] as? Int == 200_000)
                #expect(finished["fetched"] as? Int == 200_000)
                let digest = SHA256.hash(data: content.bytes(in: 0..<content.length))
                #expect(finished["sha256"] as? String == digest.map { String(format: "%02x", $0) }.joined())
                #expect(finished["entityTag"] as? String == "\"1\"")
                let summary = try #require(events.last)
                #expect(summary["finished"] as? Int == 1)
                #expect(summary["failed"] as? Int == 0)
                #expect(summary["bytes"] as? Int == 200_000)
                #expect(summary["fetched"] as? Int == 200_000)
            }
        }
    }

    @Test func `three downloads of one URL share a transfer, whose bytes are counted once`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: 50_000)]]), at: "file")
            try await Folder.with { folder in
                let url = server.url("file").absoluteString
                let run = try CommandRun(
                    ["--json", "-i", "-"], in: folder, input: "\(url)\n out=a\n\(url)\n out=b\n\(url)\n")
                try await all([0, 1, 2], of: run)
                server.release("file")
                let end = try await run.end()
                #expect(end.status == 0, "\(end.error) \(end.output)")
                #expect(server.requests(at: "file").count == 1)
                let finished = try end.events().filter { $0["event"] as? String == "finished" }
                #expect(Set(finished.compactMap { $0["id"] as? Int }) == [0, 1, 2])
                #expect(finished.compactMap { $0["fetched"] as? Int }.reduce(0, +) == 200_000)
                let summary = try #require(end.events().last)
                #expect(summary["finished"] as? Int == 3)
                #expect(summary["bytes"] as? Int == 600_000)
                #expect(summary["fetched"] as? Int == 200_000)
                for path in ["a", "b", "file"] {
                    #expect(try folder.bytes(path) == content.bytes(in: 0..<content.length))
                }
            }
        }
    }

    @Test func `the destinations of a shared transfer can be in directories that do not exist yet`() async throws {
        try await LoopbackServer.withServer { server in
            server.serve(Resource(content, entityTag: "\"1\"", script: [[.stall(after: 50_000)]]), at: "file")
            try await Folder.with { folder in
                let url = server.url("file").absoluteString
                let run = try CommandRun(
                    ["--json", "-i", "-"], in: folder, input: "\(url)\n out=one/a\n\(url)\n out=two/deep/b\n")
                try await all([0, 1], of: run)
                server.release("file")
                let end = try await run.end()
                #expect(end.status == 0, "\(end.error) \(end.output)")
                #expect(try folder.files().keys.sorted() == ["one/a", "two/deep/b"])
            }
        }
    }

    /// Waits until each of the downloads has reported progress.
    private func all(_ ids: Set<Int>, of run: CommandRun) async throws {
        var missing = ids
        for await line in run.lines where line.contains("\"event\":\"progress\"") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if let id = object?["id"] as? Int { missing.remove(id) }
            if missing.isEmpty { return }
        }
        Issue.record("the run has ended without progress of downloads \(missing)")
    }

    @Test func `a failure is reported with its code and status`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                let url = server.url("missing?token=secret").absoluteString
                let end = try await CommandRun([url, "--json"], in: folder).end()
                #expect(end.status == 1)
                let events = try end.events()
                #expect(events.count == 2)
                #expect(events.first?["event"] as? String == "failed")
                #expect(events.first?["code"] as? String == "httpStatus")
                #expect(events.first?["status"] as? Int == 404)
                #expect(events.first?["retryable"] as? Bool == false)
                #expect(events.first?["kept"] as? Int == 0)
                #expect(!end.output.contains("secret"))
            }
        }
    }
}
