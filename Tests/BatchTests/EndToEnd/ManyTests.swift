internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of a run with a long manifest.
@Suite(.endsWhenHung) struct ManyTests {
    @Test func `three failures among three hundred downloads are reported with their reasons`() async throws {
        try await LoopbackServer.withServer { server in
            let content = Content(seed: 5, length: 3000)
            for number in 0..<298 { server.serve(Resource(content, entityTag: "\"1\""), at: "/\(number)") }
            var resetting = Resource(content, entityTag: "\"1\"", script: [[.closeBeforeHead(.reset)]])
            resetting.repeatsLastStep = true
            server.serve(resetting, at: "/150")
            let lines = (0..<300).map { server.url("/\($0)").absoluteString }
            try await Folder.with { folder in
                let run = try CommandRun(
                    ["-i", "-", "-d", "files", "--retries", "1", "--json", "--engine", "http-client"], in: folder,
                    input: lines.joined(separator: "\n"))
                let end = try await run.end()
                #expect(end.status == 75)
                let events = try end.events()
                let failed = events.filter { $0["event"] as? String == "failed" }
                #expect(Set(failed.compactMap { $0["id"] as? Int }) == [150, 298, 299])
                #expect(failed.filter { $0["status"] as? Int == 404 }.count == 2)
                #expect(failed.filter { $0["code"] as? String == "connectionLost" }.count == 1)
                #expect(end.error.split(separator: "\n").filter { $0.hasPrefix("failed") }.count == 3)
                let files = try folder.names("files")
                #expect(files.count == 297, "\(files.filter { $0.hasPrefix(".") })")
                #expect(events.last?["finished"] as? Int == 297)
            }
        }
    }
}
