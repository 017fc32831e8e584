internal import ArgumentParser
internal import Foundation
internal import Logging

/// The subcommand `soak`: its options and its output.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Performs many small downloads in one process, and checks for leaks and errors.",
        discussion: """
            The seed determines for each download whether its events are read, whether its file is awaited, and \
            whether it is paused, resumed, canceled, discarded, or superseded. The server has scripted faults. \
            Afterward, no descriptor, thread, object, or file may be left, and memory must not have grown.

            Exit status: 0 if no leaks or errors were found; 1 if some were found; 64 for wrong usage.
            """)

    @Option(help: "The number of downloads.")
    var downloads = 100_000

    @Option(help: ArgumentHelp("The seed for the downloads. (default: a random number)", valueName: "n"))
    var seed: UInt64?

    @Option(help: "The HTTP engine.")
    var engine = Engine.preferred

    @Flag(help: "Writes one JSON object to standard output instead of the table.")
    var json = false

    func validate() throws {
        guard downloads >= Soak.fewest else {
            throw ValidationError(
                "--downloads requires at least \(Soak.fewest), because a sample is taken after each tenth")
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
