internal import ArgumentParser
internal import Foundation
internal import Logging

/// The subcommand `scale`: its options and its output.
struct ScaleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scale",
        abstract: "Measures what downloads cost that wait for a permit.",
        discussion: """
            For each number of downloads, a new process (on Linux) starts that many against one host that doesn't \
            respond, and then cancels all of them. Afterward, a number of small files is downloaded in two ways in turn: \
            all downloads are started at once, or a batch starts each one when another has ended. The table compares \
            the costs of one download, and the times of the two ways as a ratio.
            """)

    @Option(
        name: .customLong("downloads"), parsing: .upToNextOption,
        help: ArgumentHelp("The numbers of waiting downloads.", valueName: "n"))
    var counts = [1000, 10_000, 100_000]

    @Option(help: ArgumentHelp("The number of files to download in both ways.", valueName: "n"))
    var files = 10_000

    @Option(help: ArgumentHelp("The number of times that the files are downloaded in each way.", valueName: "n"))
    var rounds = 5

    @Option(help: "The HTTP engine.")
    var engine = Engine.preferred

    @Flag(help: "Writes one JSON object to standard output instead of the table.")
    var json = false

    @Option(help: ArgumentHelp("Measure this number of waiting downloads in this process.", visibility: .hidden))
    var single: Int?

    func validate() throws {
        guard counts.allSatisfy({ $0 > 0 }), files > 0, rounds > 0, single.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--downloads, --files, and --rounds require positive numbers")
        }
    }

    func run() async throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        if let single {
            return print(try ScaleReport.encode(try await QueueMeasurement.measure(single, engine)))
        }
        var queues: [QueueMeasurement] = []
        for count in counts { queues.append(try await QueueMeasurement.measureSeparately(count, engine)) }
        let drain = try await DrainMeasurement.measure(files: files, rounds: rounds, engine)
        let report = ScaleReport(engine: engine, queues: queues, drain: drain)
        print(json ? try ScaleReport.encode(report) : report.table)
    }
}
