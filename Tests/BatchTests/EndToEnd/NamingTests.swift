internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of the names of files whose URLs end in the same name.
@Suite(.enabled(if: Folder.hasAttributes), .endsWhenHung) struct NamingTests {
    private static let contents = (0..<4).map { Content(seed: UInt64(30 + $0), length: 200_000) }
    private static let names = ["image.jpg", "image-2.jpg", "image-3.jpg"]

    private func serve(_ server: LoopbackServer, _ number: Int, _ script: [Step] = []) {
        server.serve(
            Resource(Self.contents[number], entityTag: "\"\(number)\"", script: script), at: "\(number)/image.jpg")
    }

    private func manifest(_ server: LoopbackServer, _ numbers: [Int]) -> String {
        numbers.map { server.url("\($0)/image.jpg").absoluteString + "\n" }.joined()
    }

    private func expectFiles(in folder: Folder) throws {
        #expect(try folder.names("files") == Self.names.sorted())
        for (number, name) in Self.names.enumerated() {
            #expect(try folder.holds(Self.contents[number], at: "files/\(name)"))
        }
    }

    @Test(arguments: ["http-client", "urlsession"])
    func `names are in the order of the manifest, whichever response arrives first`(engine: String) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                for number in 0..<3 { serve(server, number, [[.holdHead]]) }
                let arguments = ["-i", "-", "-d", "files", "--json", "--engine", engine]
                // The first URL is listed twice, and is one resource.
                let list = manifest(server, [0, 1, 0, 2])
                let run = try CommandRun(arguments, in: folder, input: list)
                for number in [2, 1, 0] {
                    _ = await server.requests(at: "\(number)/image.jpg", reaching: 1)
                    server.release("\(number)/image.jpg")
                    #expect(
                        await run.printed {
                            $0["event"] as? String == "finished"
                                && ($0["path"] as? String)?.hasSuffix("/\(Self.names[number])") == true
                        })
                }
                #expect(try await run.end().status == 0)
                try expectFiles(in: folder)

                let again = try await CommandRun(arguments, in: folder, input: list).end()
                #expect(again.status == 0)
                #expect(try again.fetched() == 0)
                #expect(try again.events().last?["skipped"] as? Int == 4)
                try expectFiles(in: folder)
            }
        }
    }

    @Test func `a report doesn't replace a file whose name the server suggests`() async throws {
        try await LoopbackServer.withServer { server in
            var resource = Resource(Self.contents[0], entityTag: "\"0\"")
            resource.contentDisposition = "attachment; filename=report.json"
            server.serve(resource, at: "file")
            try await Folder.with { folder in
                for number in 1...2 {
                    let end = try await CommandRun(
                        [server.url("file").absoluteString, "--report", "report.json"], in: folder
                    ).end()
                    #expect(end.status == 1)
                    #expect(end.error.contains("the results are in "), "\(end.error)")
                    let report = try JSONSerialization.jsonObject(
                        with: Data(contentsOf: folder.url("report.json.\(number)")))
                    #expect(((report as? [String: Any])?["downloads"] as? [Any])?.count == 1)
                    #expect(try folder.holds(Self.contents[0], at: "report.json"))
                }
                #expect(try folder.names() == ["report.json", "report.json.1", "report.json.2"])
                let end = try await CommandRun(
                    [server.url("file").absoluteString, "--report", "report.json", "--failed", "report.json.3"],
                    in: folder
                ).end()
                #expect(end.status == 1)
                #expect(try Data(contentsOf: folder.url("report.json.3")).isEmpty)
                #expect(try !Data(contentsOf: folder.url("report.json.4")).isEmpty)
                #expect(try folder.names().count == 5)
                let other = try await CommandRun(
                    [server.url("file").absoluteString, "--failed", "report.json", "--report", "report.json.5"],
                    in: folder
                ).end()
                #expect(other.status == 1)
                #expect(try !Data(contentsOf: folder.url("report.json.5")).isEmpty)
                #expect(try Data(contentsOf: folder.url("report.json.6")).isEmpty)
                for number in 7...1000 { try Data().write(to: folder.url("report.json.\(number)")) }
                let last = try await CommandRun(
                    [server.url("file").absoluteString, "--report", "report.json"], in: folder
                ).end()
                #expect(last.status == 1)
                let kept = try #require(try folder.names().first { $0.hasSuffix(".tmp") })
                #expect(last.error.contains(kept), "\(last.error)")
                #expect(try !Data(contentsOf: folder.url(kept)).isEmpty)
            }
        }
    }

    @Test func `without the first line, the others keep their files`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                for number in 0..<3 { serve(server, number) }
                let arguments = ["-i", "-", "-d", "files", "--json"]
                for numbers in [[0, 1, 2], [1, 2], [2], [2, 0, 1]] {
                    let list = manifest(server, numbers)
                    let end = try await CommandRun(arguments, in: folder, input: list).end()
                    #expect(end.status == 0)
                    #expect(try end.fetched() == (numbers.first == 0 ? 600_000 : 0))
                    try expectFiles(in: folder)
                }
            }
        }
    }

    @Test func `an interrupted run continues with the same names`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                // The last one is finished, and the others have a part of their bytes.
                for number in 0..<2 { serve(server, number, [[.stall(after: 100_000)]]) }
                serve(server, 2)
                let arguments = ["-i", "-", "-d", "files", "--json"]
                let run = try CommandRun(arguments, in: folder, input: manifest(server, [0, 1, 2]))
                var waiting: Set<Int> = [0, 1, 2]
                #expect(
                    await run.printed { event in
                        let isStalled =
                            event["event"] as? String == "progress" && event["received"] as? Int == 100_000
                        if let id = event["id"] as? Int, isStalled || event["event"] as? String == "finished" {
                            waiting.remove(id)
                        }
                        return waiting.isEmpty
                    })
                run.signal(SIGINT)
                #expect(try await run.end().status == 130)
                let end = try await CommandRun(arguments, in: folder, input: manifest(server, [0, 1, 2])).end()
                #expect(end.status == 0)
                #expect(try end.fetched() == 200_000)
                try expectFiles(in: folder)
            }
        }
    }

    @Test func `a file of another resource keeps its name`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                for number in 0..<3 { serve(server, number) }
                let other = Content(seed: 99, length: 1000)
                server.serve(Resource(other, entityTag: "\"o\""), at: "image-2.jpg")
                let first = [server.url("image-2.jpg").absoluteString, "-d", "files"]
                #expect(try await CommandRun(first, in: folder).end().status == 0)
                for _ in 0..<2 {
                    let list = manifest(server, [0, 1, 2])
                    let end = try await CommandRun(["-i", "-", "-d", "files"], in: folder, input: list).end()
                    #expect(end.status == 0)
                    #expect(
                        try folder.names("files") == ["image-2-2.jpg", "image-2.jpg", "image-3.jpg", "image.jpg"])
                    #expect(try folder.holds(other, at: "files/image-2.jpg"))
                    #expect(try folder.holds(Self.contents[1], at: "files/image-2-2.jpg"))
                }
            }
        }
    }

    /// A file that was received with a secret header has no record of its resource.
    @Test(arguments: [[], ["--header", "Authorization: x"]])
    func `several processes with one name lose no file`(_ options: [String]) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                for number in 0..<4 { serve(server, number, [[.holdHead]]) }
                let runs = try (0..<4).map { number in
                    try CommandRun(
                        [server.url("\(number)/image.jpg").absoluteString, "-d", "files"] + options, in: folder)
                }
                for number in 0..<4 { _ = await server.requests(at: "\(number)/image.jpg", reaching: 1) }
                for number in 0..<4 { server.release("\(number)/image.jpg") }
                for run in runs { #expect(try await run.end().status == 0) }
                let names = try folder.names("files")
                #expect(names == (Self.names + ["image-4.jpg"]).sorted())
                for content in Self.contents {
                    #expect(try names.filter { try folder.holds(content, at: "files/\($0)") }.count == 1)
                }
            }
        }
    }

    @Test func `an output path that an earlier URL has is refused before the first request`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                for number in 0..<2 { serve(server, number) }
                let list = manifest(server, [0]) + manifest(server, [1]) + "  out=image.jpg\n"
                let end = try await CommandRun(["-i", "-", "-d", "files"], in: folder, input: list).end()
                #expect(end.status == 64)
                #expect(end.error.contains("standard input:3: image.jpg is already the name"), "\(end.error)")
                #expect(server.requests().isEmpty)
            }
        }
    }

    @Test func `the directories of URLs do not lead out of the output directory`() async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                for directory in ["files/a", "other"] {
                    try FileManager.default.createDirectory(
                        at: folder.url(directory), withIntermediateDirectories: true)
                }
                try FileManager.default.createSymbolicLink(
                    at: folder.url("files/a/link"), withDestinationURL: folder.url("other"))
                let paths = ["a/link/b/x", "a/link/y", "%2e%2e/..%2f../z"]
                for path in paths { server.serve(Resource(Self.contents[0], entityTag: "\"1\""), at: path) }
                let urls = paths.map { "http://127.0.0.1:\(server.port)/\($0)" }
                let end = try await CommandRun(urls + ["-d", "files", "--json", "--directories"], in: folder).end()
                #expect(end.status == 1)
                let failed = try end.events().filter { $0["event"] as? String == "failed" }
                #expect(failed.map { $0["code"] as? String } == ["destinationUnusable", "destinationUnusable"])
                #expect(try folder.names("other").isEmpty)
                #expect(try folder.names() == ["files", "other"])
                #expect(try folder.names("files") == ["a", "z"])
            }
        }
    }

    @Test(arguments: [
        ([], ["image-2.jpg", "image.jpg"]),
        (["--directories"], ["a/0/image.jpg", "a/b/1/image.jpg"]),
        (["--directories", "--cut-dirs", "1"], ["0/image.jpg", "b/1/image.jpg"]),
        (["--directories", "--cut-dirs", "3"], ["image-2.jpg", "image.jpg"]),
    ])
    func `the directories of URLs are kept below the output directory`(
        _ options: [String], _ expected: [String]
    ) async throws {
        try await LoopbackServer.withServer { server in
            try await Folder.with { folder in
                let paths = ["a/0/image.jpg", "a/b/1/image.jpg"]
                for (number, path) in paths.enumerated() {
                    server.serve(Resource(Self.contents[number], entityTag: "\"\(number)\""), at: path)
                }
                let urls = paths.map { server.url($0).absoluteString }
                for run in 0..<2 {
                    let end = try await CommandRun(urls + ["-d", "files", "--json"] + options, in: folder).end()
                    #expect(end.status == 0, "\(end.error)")
                    #expect(try folder.files().keys.sorted() == expected.map { "files/\($0)" })
                    if run == 1 { #expect(try end.fetched() == 0) }
                }
            }
        }
    }
}
