internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of downloads from third-party servers that are killed repeatedly and continued by the same command.
@Suite(.endsWhenHung(minutes: 12), .serialized, .enabled(if: !ForeignServer.Kind.installed.isEmpty))
struct KillTests {
    private static let content = Content(seed: 77, length: 100_000_000)
    /// The maximum number of bytes that a kill may lose: bytes in flight, and bytes being written.
    private static let loss = 8 << 20

    /// Each installed server with the default engine, and one of them with the other engine.
    private static let pairs =
        ForeignServer.Kind.installed.map { ($0, "nio") }
        + ForeignServer.Kind.installed.prefix(1).map { ($0, "urlsession") }

    @Test(arguments: pairs)
    func `a download that is killed five times produces a complete file`(
        _ kind: ForeignServer.Kind, _ engine: String
    ) async throws {
        try await Folder.with { folder in
            let served = folder.url("served")
            try FileManager.default.createDirectory(at: served, withIntermediateDirectories: true)
            try write(Self.content, to: served.appending(path: "object.bin"))
            let server = try ForeignServer(kind, serving: served, home: folder.url)
            defer { server.stop() }
            let url = try await server.url("object.bin")
            // With one connection, the offset at which a run continues says how many bytes were kept.
            let arguments = [url.absoluteString, "-d", "files", "--json", "--engine", engine, "-x", "1"]
            var (reached, left) = (0, [String]())
            for part in [0.02, 0.15, 0.4, 0.41, 0.8] {
                let killed = try await progress(
                    of: CommandRun(arguments, in: folder), upTo: Int(Double(Self.content.length) * part))
                if kind.servesRanges { #expect(killed.start >= reached - Self.loss, "after a kill that left \(left)") }
                left = try folder.names("files")
                // On a busy machine, the download may have finished before the kill; then the next run starts anew.
                reached = left.contains("object.bin") ? 0 : killed.received
                if left.contains("object.bin") {
                    try checkFile(in: folder)
                    try FileManager.default.removeItem(at: folder.url("files/object.bin"))
                }
            }
            let end = try await CommandRun(arguments, in: folder).end()
            #expect(end.status == 0, "\(end.error)")
            let fetched = try #require(try end.events().last?["fetched"] as? Int)
            if kind.servesRanges {
                let events = end.output.split(separator: "\n").filter { !$0.contains("progress") }
                #expect(
                    fetched <= Int(Self.content.length) - reached + Self.loss,
                    "\(events) after a kill that left \(left)")
            }
            try checkFile(in: folder)
            #expect(try folder.names("files") == ["object.bin"])
        }
    }

    private func checkFile(in folder: Folder) throws {
        let file = try Data(contentsOf: folder.url("files/object.bin"), options: .mappedIfSafe)
        #expect(Int64(file.count) == Self.content.length)
        #expect(file.withUnsafeBytes { Self.content.matches($0, at: 0) })
    }

    /// Kills a run at its first progress beyond `limit`, and returns the offset of its start and its last progress.
    private func progress(of run: CommandRun, upTo limit: Int) async throws -> (start: Int, received: Int) {
        var (start, received, isRequested) = (0, 0, false)
        for await line in run.lines {
            let event = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            switch event["event"] as? String {
            case "resumed": start = event["offset"] as? Int ?? 0
            case "restarted": start = 0
            case "started": isRequested = true
            case "progress":
                received = event["received"] as? Int ?? 0
                // Until a response, these are the bytes on disk. After a kill before the rename, no request is necessary.
                if !isRequested { start = received }
            default: break
            }
            if received > limit { break }
        }
        run.signal(SIGKILL)
        _ = try await run.end()
        return (start, received)
    }

    private func write(_ content: Content, to url: URL) throws {
        try Data().write(to: url)
        let handle = try FileHandle(forWritingTo: url)
        var position: Int64 = 0
        while position < content.length {
            let end = min(position + (8 << 20), content.length)
            try handle.write(contentsOf: Data(content.bytes(in: position..<end)))
            position = end
        }
        try handle.close()
        // The modification date of a file that was just written isn't strong (RFC 9110, 8.8.2.2), and Python's server
        // sends no other validator.
        let old = Date(timeIntervalSince1970: 1_300_000_000)
        try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: url.path)
    }
}
