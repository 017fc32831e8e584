internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import batch

/// Tests of `batch units`, in processes as an engine of a cluster starts them.
@Suite(.endsWhenHung) struct UnitsCommandTests {
    private static let content = Content(seed: 61, length: 3000)

    /// Returns a manifest of files of the server, under two names of its host.
    private func manifest(_ server: LoopbackServer, _ names: [String]) -> String {
        names.enumerated().map { index, name in
            "http://\(index % 2 == 0 ? "127.0.0.1" : "localhost"):\(server.port)/\(name)\n"
        }.joined()
    }

    private func serve(_ names: [String], on server: LoopbackServer, script: [Step] = []) {
        for (seed, name) in names.enumerated() {
            server.serve(
                Resource(Content(seed: UInt64(seed), length: 3000), entityTag: "\"\(seed)\"", script: script), at: name)
        }
    }

    private static let names = (0..<10).map { "f\($0)" }

    @Test(arguments: [false, true])
    func `a file that doesn't exist is a result, and a unit with a report is never processed again`(
        isPacked: Bool
    ) async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.names, on: server)
            server.serve(Resource(Self.content, script: [[.status(404)]]), at: "f3")
            try await Folder.with { folder in
                let index = try await folder.split(manifest(server, Self.names), "--lines", "3")
                let packing = isPacked ? ["--pack", "tar"] : []
                let arguments = ["units", "units", "-d", "out", "--timeout", "900"] + packing
                for number in 0..<2 {
                    let end = try await CommandRun(arguments, in: folder).end()
                    #expect(end.status == 0, "\(end.error)")
                    #expect(end.error.contains("reports: 4 of 4 units"))
                    #expect(server.requests().count == 10, "run \(number)")
                }
                let reports = try folder.reports()
                #expect(reports.keys.sorted() == index.units.map { "\($0.unit).json" })
                #expect(reports.values.joined().count == 10)
                let missing = try folder.report("000001.json")
                #expect(missing["errors"] as? [String: Int] == ["httpStatus 404": 1])
                #expect(missing["finished"] as? Int == 2 && missing["failed"] as? Int == 1)
                #expect(missing["attempts"] as? Int == 1 && missing["bytes"] as? Int == 6000)
                let expected = Self.names.filter { $0 != "f3" }
                if isPacked {
                    #expect(
                        try folder.names("out") == ["000000.tar", "000001.tar", "000002.tar", "000003.tar", "done"])
                    let archives = index.units.map { "out/\($0.unit).tar" }
                    #expect(try archives.flatMap { try folder.members(of: $0) }.sorted() == expected)
                    #expect(
                        try folder.bytes(of: "f0", in: "out/000000.tar")
                            == Content(seed: 0, length: 3000).bytes(in: 0..<3000))
                } else {
                    #expect(try folder.names("out") == ["done"] + expected)
                }
                #expect(try folder.names("out/done") == index.units.map { "\($0.unit).json" })
            }
        }
    }

    /// Texts of an index, and what replaces them.
    private static let damages = [
        (#""unit" : "000001""#, #""unit" : "../001""#), (#""unit" : "000001""#, #""unit" : "000000""#),
        (#""unit" : "000001""#, #""unit" : "1""#), (#""lane" : 0"#, #""lane" : -1"#),
        (#""count" : 3"#, #""count" : 0"#), (#""count" : 3"#, #""count" : 9223372036854775807"#),
    ]

    @Test func `an index that split hasn't written is refused before anything is written`() async throws {
        try await Folder.with { folder in
            try await folder.split(Self.names.map { "http://127.0.0.1:9/\($0)\n" }.joined(), "--lines", "3")
            let file = folder.url("units/index.json")
            let index = try String(contentsOf: file, encoding: .utf8)
            for (text, replacement) in Self.damages {
                #expect(index.contains(text), "\(text)")
                try index.replacingOccurrences(of: text, with: replacement).write(
                    to: file, atomically: true, encoding: .utf8)
                let end = try await folder.units().end()
                #expect(
                    end.status == 1 && end.error.contains("index.json was damaged"),
                    "\(replacement): \(end.status) \(end.error)")
                #expect(try !folder.names(".").contains("out"), "\(replacement)")
            }
        }
    }

    @Test func `only what may succeed is tried again, and not for ever`() async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.names, on: server)
            server.serve(Resource(Self.content, script: [[.status(404)]]), at: "f2")
            server.serve(Resource(Self.content, script: [[.status(500)], []]), at: "f4")
            server.serve(Resource(Self.content, script: Array(repeating: [.status(500)], count: 3)), at: "f6")
            try await Folder.with { folder in
                try await folder.split(manifest(server, Self.names))
                for attempt in 1...3 {
                    let end = try await folder.units("--retries", "0", "--attempts", "3").end()
                    #expect(end.status == (attempt < 3 ? 75 : 0), "\(end.error)")
                    #expect(server.requests(at: "f0").count == 1 && server.requests(at: "f2").count == 1)
                    #expect(server.requests(at: "f4").count == min(attempt, 2))
                    #expect(server.requests(at: "f6").count == attempt)
                }
                let report = try folder.report("000000.json")
                #expect(report["attempts"] as? Int == 3 && report["finished"] as? Int == 3)
                #expect(report["errors"] as? [String: Int] == ["httpStatus 404": 1, "httpStatus 500": 1])
                #expect(try folder.reports().values.joined().count == 10)
                #expect(try await folder.units("--attempts", "3").end().status == 0)
                #expect(server.requests(at: "f6").count == 3)
            }
        }
    }

    @Test(arguments: [false, true], [SIGKILL, SIGTERM])
    func `a task that ends at any moment is continued by another number of tasks`(
        isPacked: Bool, signal: Int32
    ) async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.names, on: server)
            server.serve(
                Resource(Content(seed: 7, length: 3000), entityTag: "\"7\"", script: [[.stall(after: 1000)]]), at: "f7")
            try await Folder.with { folder in
                try await folder.split(manifest(server, Self.names))
                let packing = isPacked ? ["--pack", "tar"] : []
                let arguments = ["units", "units", "-d", "out", "--timeout", "900", "--json"] + packing
                let first = try CommandRun(arguments, in: folder)
                // The server may have sent bytes that the process hasn't received yet.
                var (finished, isReceived) = (0, false)
                for await line in first.lines {
                    if line.contains("\"finished\"") { finished += 1 }
                    if line.contains("\"received\":1000,") { isReceived = true }
                    if finished == 9, isReceived { break }
                }
                first.signal(signal)
                let end = try await first.end()
                #expect(end.status == (signal == SIGKILL ? -1 : 143), "\(end.error)")

                for task in 0..<2 {
                    let end = try await CommandRun(arguments + ["--task", "\(task)", "--of", "2"], in: folder).end()
                    #expect(end.status == 0, "\(end.error)")
                }
                let results = try folder.reports()
                #expect(results.count == 2 && results.values.joined().count == 10)
                let sent = Self.names.reduce(0) { $0 + server.bodyBytesSent(at: $1) }
                // A process that is killed loses what it hasn't saved of the file that was stalled.
                #expect(sent == 30_000 || signal == SIGKILL && sent == 31_000)
                if isPacked {
                    let members = try ["000000", "000001"].flatMap { try folder.members(of: "out/\($0).tar") }
                    #expect(members.sorted() == Self.names)
                    #expect(
                        try folder.bytes(of: "f7", in: "out/000001.tar")
                            == Content(seed: 7, length: 3000).bytes(in: 0..<3000))
                }
                #expect(try folder.names("out").allSatisfy { !$0.hasPrefix(".") })
            }
        }
    }

    @Test func `equal lines have one file, and equal names get numbers`() async throws {
        try await LoopbackServer.withServer { server in
            serve(["f0", "a/x", "b/x"], on: server)
            for (seed, name) in ["s0", "s1"].enumerated() {
                var resource = Resource(Content(seed: UInt64(80 + seed), length: 500), entityTag: "\"s\(seed)\"")
                resource.headers["Content-Disposition"] = "attachment; filename=same.bin"
                server.serve(resource, at: name)
            }
            try await Folder.with { folder in
                let names = ["f0", "a/x", "f0", "b/x", "s0", "s1", "f0"]
                let manifest = names.map { server.url($0).absoluteString + "\n" }.joined()
                try await folder.split(manifest)
                #expect(try await folder.units("--pack", "tar", "-j", "1").end().status == 0)
                #expect(
                    try folder.members(of: "out/000000.tar").sorted() == ["f0", "same-2.bin", "same.bin", "x", "x-2"])
                let results = try folder.reports().values.joined()
                #expect(results.count == 7)
                #expect(results.filter { $0["path"] as? String == "f0" }.count == 3)
            }
        }
    }

    @Test func `a task that was started again waits for the earlier one`() async throws {
        try await LoopbackServer.withServer { server in
            serve(["f0", "f1"], on: server)
            server.serve(Resource(Self.content, entityTag: "\"1\"", script: [[.holdHead]]), at: "f1")
            try await Folder.with { folder in
                try await folder.split("http://127.0.0.1:\(server.port)/f0\nhttp://127.0.0.1:\(server.port)/f1\n")
                let first = try folder.units()
                _ = await server.requests(at: "f1", reaching: 1)
                let second = try folder.units()
                for await line in second.errorLines where line.contains("waiting   for another process") { break }
                server.release("f1")
                let (firstEnd, secondEnd) = (try await first.end(), try await second.end())
                #expect(firstEnd.status == 0 && secondEnd.status == 0, "\(firstEnd.error)\(secondEnd.error)")
                #expect(secondEnd.error.contains("reports: 1 of 1 unit"))
                #expect(server.requests().count == 2)
            }
        }
    }

    @Test func `hosts that can't be reached leave their places to others`() async throws {
        try await LoopbackServer.withServer { server in
            serve(["f0"], on: server)
            try await Folder.with { folder in
                // More hosts than lanes from which items are started at the same time.
                let dead = (0..<90).flatMap { host in (0..<3).map { "http://h\(host).invalid:9/\($0)\n" } }.joined()
                let index = try await folder.split(dead + server.url("f0").absoluteString + "\n")
                let end = try await folder.units("--retries", "1", "--attempts", "1").end()
                #expect(end.status == 0, "\(end.error.suffix(300))")
                let results = try folder.reports()
                #expect(results.count == index.units.count && results.count == 91)
                #expect(results.values.joined().count { $0["result"] as? String == "failed" } == 270)
            }
        }
    }

    @Test func `the number of the task is found in the environment`() async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.names, on: server)
            try await Folder.with { folder in
                try await folder.split(manifest(server, Self.names))
                let variables = [
                    "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX", "CLOUD_RUN_TASK_INDEX",
                ]
                for (number, name) in variables.enumerated() {
                    let end = try await folder.units("--task", "auto", "--of", "4", environment: [name: "\(number)"])
                        .end()
                    #expect(end.status == 0, "\(end.error)")
                    #expect(try folder.reports().count == min(number + 1, 2))
                }
            }
        }
    }

    /// Arguments, and what the message about them contains.
    private static let misuses = [
        (["units"], "--directory"), (["none", "-d", "out"], "index.json"),
        (["units", "-d", "out", "--task", "2", "--of", "2"], "--of 2"),
        (["units", "-d", "out", "--task", "1"], "--of"),
        (["units", "-d", "out", "--tasks", "1"], "batch units --help"),
        (["units", "-d", "out", "--of", "2"], "--task"),
        (["units", "-d", "out", "--task", "auto", "--of", "2"], "SLURM_ARRAY_TASK_ID"),
        (["units", "-d", "out", "--task", "-1", "--of", "2"], "--task"),
        (["units", "-d", "out", "--pack", "zip"], "--pack"), (["units", "-d", "out", "--attempts", "0"], "--attempts"),
        (["units", "-d", "urls.txt"], "urls.txt"), (["units", "-d", "out", "--jobs", "0"], "-j"),
    ]

    @Test func `wrong usage and everything else about this machine has status 1`() async throws {
        try await Folder.with { folder in
            try await folder.split("http://127.0.0.1:1/x\n")
            for (arguments, word) in Self.misuses {
                let end = try await CommandRun(["units"] + arguments, in: folder).end()
                #expect(end.status == 1 && end.error.contains(word), "\(arguments): \(end.error)")
            }
        }
    }

    @Test func `a tar file that the command did not create is not changed`() async throws {
        try await Folder.with { folder in
            try await folder.split("http://127.0.0.1:1/x\n")
            try FileManager.default.createDirectory(at: folder.url("out"), withIntermediateDirectories: true)
            try Data("mine".utf8).write(to: folder.url("out/000000.tar"))
            let end = try await folder.units("--pack", "tar").end()
            #expect(end.status == 1 && end.error.contains("another output directory"), "\(end.error)")
            #expect(try folder.bytes("out/000000.tar") == Array("mine".utf8))
        }
    }

    @Test func `units of another manifest are refused`() async throws {
        try await LoopbackServer.withServer { server in
            serve(Self.names, on: server)
            try await Folder.with { folder in
                try await folder.split(manifest(server, ["f0"]))
                #expect(try await folder.units().end().status == 0)
                try FileManager.default.removeItem(at: folder.url("units"))
                try await folder.split(manifest(server, ["f1"]))
                let end = try await folder.units().end()
                #expect(end.status == 1 && end.error.contains("another manifest"), "\(end.error)")
                try Data("http://127.0.0.1:\(server.port)/f2\n".utf8).write(to: folder.url("units/000000.txt"))
                try FileManager.default.removeItem(at: folder.url("out"))
                let changed = try await folder.units().end()
                #expect(changed.status == 1 && changed.error.contains("has changed"), "\(changed.error)")
                #expect(server.requests().count == 1)
            }
        }
    }
}
