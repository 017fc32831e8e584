internal import Crypto
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of the contract of the command line: what users and scripts rely on.
@Suite(.endsWhenHung) struct ContractTests {
    /// The resources of the server.
    private static let contents: [String: Content] = [
        "one": Content(seed: 51, length: 40_000), "two": Content(seed: 52, length: 300),
        "sub/three": Content(seed: 53, length: 5000),
        "x/one": Content(seed: 54, length: 700), "copy": Content(seed: 51, length: 40_000),
    ]
    private static let lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(arguments: ContractCase.manifests + ContractCase.options + ContractCase.endings)
    func `the command keeps its contract`(_ row: ContractCase) async throws {
        try await LoopbackServer.withServer { server in
            for (name, content) in Self.contents {
                var resource = Resource(content, entityTag: "\"\(content.seed)\"", script: row.scripts[name] ?? [])
                resource.lastModified = Self.lastModified
                server.serve(resource, at: name)
            }
            let fill = Self.filling(server)
            try await Folder.with { folder in
                for (name, text) in row.files { try Data(fill(text).utf8).write(to: folder.url(name)) }
                let run = try CommandRun(
                    row.arguments.split(separator: " ").map { fill(String($0)) }, in: folder, input: fill(row.input),
                    environment: row.environment.merging(["HOME": folder.url.path]) { $1 })
                let end = try await run.end()
                #expect(end.status == row.status, "\(end.error)\(end.output)")
                for text in row.output { #expect(end.output.contains(fill(text)), "\(end.output)") }
                for text in row.error { #expect(end.error.contains(fill(text)), "\(end.error)") }
                for text in row.absent {
                    #expect(!(end.output + end.error).contains(text), "\(end.error)\(end.output)")
                }
                try expectFiles(of: row, in: folder, fill)
                if row.status == 64, row.results.isEmpty { #expect(server.requests().isEmpty) }
                for (name, fields) in row.requests {
                    let request = try #require(server.requests(at: name).first)
                    for (field, value) in fields { #expect(request[field] == value, "\(field)") }
                }
            }
        }
    }

    private func expectFiles(of row: ContractCase, in folder: Folder, _ fill: (String) -> String) throws {
        let files = try folder.files()
        #expect(
            files.keys.sorted() == Set(row.files.keys).union(row.results.keys).union(row.texts.keys).sorted())
        for (path, name) in row.results {
            let content = try #require(Self.contents[name])
            #expect(files[path] == content.bytes(in: 0..<content.length), "\(path)")
        }
        for (path, texts) in row.texts {
            let text = String(decoding: files[path] ?? [], as: UTF8.self)
            for part in texts { #expect(text.contains(fill(part)), "\(path): \(text)") }
        }
        if row.arguments.contains("--remote-time") {
            for path in row.results.keys {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.url(path).path)
                #expect((attributes[.modificationDate] as? Date)?.timeIntervalSince1970 == 784_111_777)
            }
        }
    }

    /// Returns a function that replaces the placeholders in a text.
    private static func filling(_ server: LoopbackServer) -> (String) -> String {
        { text in
            var text = text.replacing("SERVER", with: "http://127.0.0.1:\(server.port)")
                .replacing("HOST", with: "http://localhost:\(server.port)").replacing(
                    "DEAD", with: "http://127.0.0.1:1")
            for (name, content) in contents where text.contains("SHA:\(name)") {
                let digest = SHA256.hash(data: content.bytes(in: 0..<content.length))
                text = text.replacing("SHA:\(name)", with: digest.map { String(format: "%02x", $0) }.joined())
            }
            return text
        }
    }
}
