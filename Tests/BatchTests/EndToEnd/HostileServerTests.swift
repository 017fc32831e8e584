internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of the output for malicious servers and for URLs that contain secrets.
@Suite(.endsWhenHung) struct HostileServerTests {
    private let content = Content(seed: 3, length: 50_000)

    @Test(arguments: ["http-client", "urlsession"])
    func `the output contains no queries and no credentials`(engine: String) async throws {
        try await LoopbackServer.withServer { server in
            let changed = Fault.replaceContent(content, entityTag: "\"s3cret\"")
            let scripts: [String: [Step]] = [
                "/status": [[.status(403)]], "/redirect": [[.redirect(location: "ftp://u:s3cret@h/s3cret?s3cret")]],
                "/retry": [[.cut(after: 20_000)]], "/restart": [[.cut(after: 20_000)], [changed]],
                "/signed": [[.redirect(location: "/retry?s3cret")]],
            ]
            for (path, script) in scripts {
                server.serve(Resource(content, entityTag: "\"1\"", script: script), at: path)
            }
            try await Folder.with { folder in
                let urls = scripts.keys.sorted().map { server.url("\($0)?token=s3cret#s3cret").absoluteString }
                let credentials = ["--header", "Authorization: Bearer s3cret", "--header", "Cookie: s3cret"]
                let end = try await CommandRun(
                    urls + ["http://user:s3cret@127.0.0.1:1/password"] + credentials
                        + ["--engine", engine, "--retries", "2"], in: folder
                ).end()
                // No connection can be established with the last one, which may be different later.
                #expect(end.status == 75)
                for word in ["failed", "finished", "retrying", "restarted"] {
                    #expect(end.error.contains("\n\(word)") || end.error.hasPrefix(word), "\(word): \(end.error)")
                }
                #expect(!end.error.contains("s3cret"), "\(end.error)")
                #expect(end.output.isEmpty)
            }
        }
    }

    @Test func `control characters in a name do not reach the terminal`() async throws {
        try await LoopbackServer.withServer { server in
            var resource = Resource(content, entityTag: "\"1\"")
            resource.contentDisposition = "attachment; filename*=UTF-8''..%2F%1B%5D0%3Bowned%07%0Afinished%E2%80%AE.txt"
            server.serve(resource, at: "/file")
            try await Folder.with { folder in
                let end = try await CommandRun([server.url("/file%1B%5B2J%0Afailed").absoluteString], in: folder).end()
                #expect(end.status == 1)
                let other = try await CommandRun([server.url("/file").absoluteString], in: folder).end()
                #expect(other.status == 0)
                #expect(try folder.names() == ["_]0;owned__finished_.txt"])
                for text in [end.error, other.error] {
                    let lines = text.split(separator: "\n")
                    #expect(
                        lines.allSatisfy { !$0.unicodeScalars.contains { $0.properties.generalCategory == .control } })
                    #expect(lines.count <= 3, "\(text)")
                }
            }
        }
    }
}
