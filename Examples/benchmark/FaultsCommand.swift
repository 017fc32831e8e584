internal import ArgumentParser
internal import Foundation
internal import Logging

/// The subcommand `faults`: its options and its output.
struct FaultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "faults",
        abstract: "Downloads from bad servers with the library and with other programs, and compares the files.",
        discussion: """
            The servers are the rows of the conformance tables of this package's tests, each a script of faults. For \
            each row, this library, and curl, wget, wget2, and aria2c if they are installed, download from a new server to a \
            new directory. A program that exits with an error is run again in the same directory, up to \
            \(FaultTrial.maximumRunCount) runs, so that it can use what it has kept. If the server offers no file, an \
            error is the right result.
            """)

    @Option(help: ArgumentHelp("Only the rows whose name contains this text.", valueName: "text"))
    var rows: String?

    @Option(
        help: ArgumentHelp("The directory for faults.md, which has a line for each row.", valueName: "dir"))
    var output: String?

    @Option(help: ArgumentHelp("The seconds after which a run is ended.", valueName: "seconds"))
    var limit = 60

    @Flag(help: "Writes one JSON object to standard output instead of the table.")
    var json = false

    func run() async throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let report = try await FaultComparison.run(rowsNamed: rows, limit: .seconds(max(1, limit)))
        guard !report.trials.isEmpty || !report.omissions.isEmpty else {
            throw ValidationError("no row has a name that contains \(rows ?? "")")
        }
        if let output { try report.write(to: URL(fileURLWithPath: output, isDirectory: true)) }
        print(json ? try ScaleReport.encode(report) : report.summary)
    }
}
