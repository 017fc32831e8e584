#if ServerStack
internal import ArgumentParser
internal import Foundation
internal import Logging

/// The subcommand `compare`: its options and its output.
struct CompareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Measures the library beside other download programs.",
        discussion: """
            Each workload is done by this library, by its HTTP engine without the library (bare), and by curl, wget2, \
            and aria2c if they are installed. The programs take turns, and each run is a separate process. The server \
            is nginx if it is installed, otherwise the package's own server. The tables contain medians, and the ratios \
            to the first other program in each round.
            """)

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("The workloads to measure.", valueName: "workload"))
    var workloads = Workload.allCases

    @Option(help: ArgumentHelp("The number of rounds.", valueName: "n"))
    var rounds = 5

    @Flag(help: "Measures smaller workloads in three rounds.")
    var quick = false

    @Option(help: ArgumentHelp("The number of small files.", valueName: "n"))
    var files: Int?

    @Option(help: ArgumentHelp("The length of the large file in MiB.", valueName: "n"))
    var mebibytes: Int?

    @Flag(help: "Writes one JSON object to standard output instead of the tables.")
    var json = false

    func validate() throws {
        guard rounds > 0, files.map({ $0 > 0 }) ?? true, mebibytes.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--rounds, --files, and --mebibytes require positive numbers")
        }
    }

    func run() async throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let size = WorkloadSize(
            files: files ?? (quick ? 2000 : 10_000), mebibytes: mebibytes ?? (quick ? 256 : 1024))
        let report = try await ComparisonReport.measure(workloads, size, rounds: quick ? min(rounds, 3) : rounds)
        print(json ? try ScaleReport.encode(report) : report.markdown)
    }
}

/// The hidden subcommand `fetch`, which does a workload in a process of its own.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fetch", shouldDisplay: false)

    @Argument(help: "A file with a URL and a path on each line, separated by a space.")
    var list: String

    @Option(help: "The number of concurrent downloads.")
    var jobs = 16

    @Option(help: "The number of connections for each file.")
    var connections = 1

    @Flag(help: "Uses the HTTP engine without the library.")
    var bare = false

    func run() async throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let transfers = try FileTransfer.read(URL(fileURLWithPath: list))
        if bare {
            try await BareEngine.fetch(transfers, jobs: jobs)
        } else {
            try await FileTransfer.fetch(transfers, jobs: jobs, connections: connections)
        }
    }
}
#endif
