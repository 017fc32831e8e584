internal import Foundation
internal import TestSupport
internal import Testing

/// Tests of the run without arguments.
@Suite(.endsWhenHung) struct DemonstrationTests {
    @Test func `the demonstration succeeds and leaves no files`() async throws {
        try await Folder.with { folder in
            let end = try await CommandRun([], in: folder).end()
            #expect(end.status == 0, "\(end.error)")
            #expect(end.output.isEmpty)
            #expect(end.error.components(separatedBy: "as promised").count == 7, "\(end.error)")
            #expect(end.error.contains("21 of 21 files finished"))
            #expect(
                end.error.contains(
                    "memory.bin  as promised: 4.0 MiB released from memory at a warning and 4.0 MiB kept on disk, "
                        + "resumed at byte 4194304 of 8388608, 0 B requested again; the server received 2 requests"))
            #expect(
                end.error.contains(
                    "cancel.bin  as promised: canceled with 4.0 MiB kept, requested again, "
                        + "resumed at byte 4194304 of 8388608; the server received 2 requests"))
            #expect(try folder.names().isEmpty)
        }
    }

    @Test func `an interrupted demonstration leaves no files`() async throws {
        try await Folder.with { folder in
            let run = try CommandRun([], in: folder)
            for await line in run.errorLines where line.hasPrefix("started") { break }
            run.signal(SIGINT)
            let end = try await run.end()
            #expect(try folder.names().isEmpty)
            // On a busy machine, the run may have ended before the signal arrived.
            #expect(end.status == 130 || end.status == 0)
        }
    }
}
