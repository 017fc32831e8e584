internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of `--atomic`: the directory appears, or changes, in one step.
@Suite(.endsWhenHung) struct AtomicTests {
    private static let one = Content(seed: 71, length: 90_000)
    private static let two = Content(seed: 72, length: 120_000)
    private static let changed = Content(seed: 73, length: 70_000)

    private func serve(_ content: Content, _ server: LoopbackServer, at name: String, _ script: [Step] = []) {
        server.serve(Resource(content, entityTag: "\"\(content.seed)\"", script: script), at: name)
    }

    private func arguments(_ server: LoopbackServer, _ names: [String] = ["one", "two"]) -> [String] {
        ["--atomic", "-d", "models", "--json"] + names.map { server.url($0).absoluteString }
    }

    @Test(.enabled(if: Folder.hasAttributes), arguments: [SIGKILL, SIGTERM])
    func `after an interruption the directory is absent, and the next run continues`(signal: Int32) async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.one, server, at: "one")
            serve(Self.two, server, at: "two", [[.stall(after: 50_000)]])
            try await Folder.with { folder in
                let run = try CommandRun(arguments(server), in: folder)
                for await line in run.lines where line.contains("\"finished\"") { break }
                // Otherwise, the next run could be the first one to send this request, which is never answered completely.
                _ = await server.requests(at: "two", reaching: 1)
                run.signal(signal)
                #expect(try await run.end().status == (signal == SIGKILL ? -1 : 143))
                #expect(try !folder.names().contains("models"))

                let end = try await CommandRun(arguments(server), in: folder).end()
                #expect(end.status == 0, "\(end.error)")
                #expect(server.bodyBytesSent(at: "one") == Self.one.length)
                #expect(try folder.holds(Self.one, at: "models/one"))
                #expect(try folder.holds(Self.two, at: "models/two"))
                #expect(try folder.names() == ["models"])
                #expect(try folder.names("models") == ["one", "two"])
                let paths = try end.events().compactMap { $0["path"] as? String }
                #expect(paths == [folder.url("models/two").path])
            }
        }
    }

    @Test(.enabled(if: Folder.hasAttributes))
    func `a directory changes only if all downloads succeed, and keeps its other files`() async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.one, server, at: "one")
            serve(Self.two, server, at: "two")
            try await Folder.with { folder in
                #expect(try await CommandRun(arguments(server), in: folder).end().status == 0)
                try Data("mine".utf8).write(to: folder.url("models/notes"))
                serve(Self.changed, server, at: "one")
                let failed = try await CommandRun(arguments(server, ["one", "two", "missing"]), in: folder).end()
                #expect(failed.status == 1)
                #expect(failed.error.contains("models is unchanged"))
                #expect(try folder.holds(Self.one, at: "models/one"))
                #expect(try folder.names("models") == ["notes", "one", "two"])

                let end = try await CommandRun(arguments(server), in: folder).end()
                #expect(end.status == 0, "\(end.error)")
                #expect(try end.fetched() == 0)
                #expect(server.bodyBytesSent(at: "two") == Self.two.length)
                #expect(try folder.holds(Self.changed, at: "models/one"))
                #expect(try folder.names("models") == ["notes", "one", "two"])
                #expect(try folder.names() == ["models"])
            }
        }
    }

    @Test(.enabled(if: Folder.hasAttributes))
    func `names are chosen as in the directory, so that no file of others is replaced`() async throws {
        try await LoopbackServer.withServer { server in
            for (path, content) in [("report", Self.one), ("1/image.jpg", Self.two), ("2/image.jpg", Self.changed)] {
                var resource = Resource(content, entityTag: "\"\(content.seed)\"")
                if path == "report" { resource.contentDisposition = "attachment; filename=report.pdf" }
                server.serve(resource, at: path)
            }
            try await Folder.with { folder in
                try FileManager.default.createDirectory(at: folder.url("models"), withIntermediateDirectories: true)
                try Data("mine".utf8).write(to: folder.url("models/report.pdf"))
                #expect(try await CommandRun(arguments(server, ["1/image.jpg"]), in: folder).end().status == 0)
                try Data("mine".utf8).write(to: folder.url("models/image-2.jpg"))
                for isFirst in [true, false] {
                    let end = try await CommandRun(arguments(server, ["report"]), in: folder).end()
                    #expect(end.status == 0, "\(end.error)")
                    #expect(try end.fetched() == (isFirst ? Self.one.length : 0))
                    #expect(try await CommandRun(arguments(server, ["2/image.jpg"]), in: folder).end().status == 0)
                    for name in ["report.pdf", "image-2.jpg"] {
                        #expect(try folder.bytes("models/\(name)") == Array("mine".utf8))
                    }
                    #expect(try folder.holds(Self.one, at: "models/report-2.pdf"))
                    #expect(try folder.holds(Self.two, at: "models/image.jpg"))
                    #expect(try folder.holds(Self.changed, at: "models/image-3.jpg"))
                    #expect(try folder.names("models").count == 5)
                    #expect(try folder.names() == ["models"])
                }
            }
        }
    }

    @Test func `results say whether the directory was replaced`() async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.one, server, at: "one")
            try await Folder.with { folder in
                for (names, isPublished) in [(["one", "missing"], false), (["one"], true)] {
                    let run = arguments(server, names) + ["--report", "r.json"]
                    let end = try await CommandRun(run, in: folder).end()
                    #expect(end.status == (isPublished ? 0 : 1))
                    #expect(try end.events().last?["published"] as? Bool == isPublished)
                    let report = String(decoding: try folder.bytes("r.json"), as: UTF8.self)
                    #expect(report.contains("\"published\":\(isPublished)"))
                }
            }
        }
    }

    @Test func `a second run waits for the first one, or fails`() async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.one, server, at: "one", [[.stall(after: 50_000)]])
            serve(Self.two, server, at: "two")
            try await Folder.with { folder in
                let first = try CommandRun(arguments(server, ["one"]), in: folder)
                _ = await server.requests(at: "one", reaching: 1)
                let refused = try await CommandRun(arguments(server, ["two"]) + ["--in-use", "fail"], in: folder).end()
                #expect(refused.status == 75)
                #expect(refused.error.contains("partialInUse"))
                let second = try CommandRun(arguments(server, ["two"]), in: folder)
                first.signal(SIGINT)
                #expect(try await first.end().status == 130)
                let end = try await second.end()
                #expect(end.status == 0, "\(end.error)")
                #expect(try folder.names("models").filter { !$0.hasPrefix(".") } == ["two"])
                #expect(try folder.names() == ["models"])
            }
        }
    }
}
