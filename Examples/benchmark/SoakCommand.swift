#if ServerStack
internal import ArgumentParser
internal import Foundation
internal import Logging

/// `benchmark soak`: what it may be told, and what it prints.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Lives through many small downloads in one process, and looks for what they leave behind.",
        discussion: """
            Each download listens or does not, awaits its file or does not, pauses, resumes, leaves or is superseded, \
            as the seed has it, against a server that misbehaves. Afterwards no descriptor, thread, object or file may \
            be left, and memory must be as it was.

            Exit status: 0 nothing was left; 1 something was; 64 wrong usage.
            """)

    @Option(help: "How many downloads.")
    var downloads = 100_000

    @Option(help: ArgumentHelp("What the downloads are drawn from. (default: another each time)", valueName: "n"))
    var seed: UInt64?

    @Option(help: "The transport.")
    var engine = Engine.httpClient

    @Flag(help: "One JSON object on standard output in place of the table.")
    var json = false

    func validate() throws {
        guard downloads >= Soak.fewest else {
            throw ValidationError("--downloads takes \(Soak.fewest) at least: the figures are taken at every tenth")
        }
    }

    func run() async throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let soak = Soak(downloads: downloads, seed: seed ?? .random(in: 0...UInt64(UInt32.max)), engine: engine)
        let report = try await soak.run()
        print(json ? try report.json : report.table)
        guard report.findings.isEmpty else { throw ExitCode.failure }
    }
}
#endif
