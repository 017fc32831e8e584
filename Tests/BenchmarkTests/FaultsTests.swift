internal import Foundation
internal import TestSupport
internal import Testing

@testable import benchmark

/// Tests of downloads from bad servers by separate processes.
@Suite(.endsWhenHung)
struct FaultsTests {
    /// A limit that no run reaches on a busy machine.
    private static let limit = ["--limit", "900"]

    @Test(arguments: [
        ("a truncated body is resumed", FaultVerdict.rightFile, 300_000),
        ("several parts that are shorter than requested are appended", .rightFile, 300_000),
        ("404 is final", .rightError, 2), ("an error page is not written to the file", .rightError, 100_002),
    ])
    func `each installed program is judged, and the library is right in one run`(
        _ row: String, _ verdict: FaultVerdict, _ sent: Int64
    ) async throws {
        let run = try await BenchmarkProcess<FaultReport>("faults", ["--rows", row] + Self.limit)
        #expect(run.status == 0)
        #expect(run.report.trials.map(\.program) == Program.faultPrograms.filter { $0.executable != nil })
        #expect(run.report.missing == Program.faultPrograms.filter { $0.executable == nil })
        let own = try #require(run.report.trials.first)
        #expect(own.verdict == verdict && own.runCount == 1)
        #expect(own.sentByteCount == sent)
        guard row == "a truncated body is resumed", Program.curl.executable != nil else { return }
        // A program that fails is run again in the same directory.
        let curl = try #require(run.report.trials.first { $0.program == .curl })
        #expect(curl.verdict == .rightFile && curl.runCount == 2 && curl.sentByteCount == 300_000)
    }

    @Test func `the output directory receives a line for each row, and rows that are left out have a reason`()
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        let run = try await BenchmarkProcess<FaultReport>(
            "faults", ["--rows", "coded", "--output", directory.appending(path: "new").path])
        #expect(run.status == 0)
        #expect(run.report.trials.isEmpty && run.report.omissions.count == 2)
        let text = try String(contentsOf: directory.appending(path: "new/faults.md"), encoding: .utf8)
        #expect(text.contains("“a truncated coded body restarts”: The right bytes depend on"))
    }

    @Test func `a command is ended at the limit, and has a status otherwise`() async throws {
        let directory = try TemporaryDirectory("test")
        defer { directory.remove() }
        let hung = try await CommandRun.status(
            of: ["/bin/sleep", "100000"], in: directory, limit: .milliseconds(10))
        #expect(hung == nil)
        for (script, status) in [("exit 0", Int32(0)), ("exit 3", 3), ("kill -9 $$", -1)] {
            let end = try await CommandRun.status(
                of: ["/bin/sh", "-c", script], in: directory, limit: .seconds(100_000))
            #expect(end == status)
        }
    }
}
