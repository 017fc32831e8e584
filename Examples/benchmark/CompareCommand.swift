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
            aria2c, and openssl if they are installed. The programs take turns, and each run is a separate process that \
            writes to a new directory. The server is nginx if it is installed, otherwise the package's own server. The \
            tables contain medians of the runs, and medians of the ratios in each round. The files are in the directory \
            for temporary files, which the environment variable TMPDIR sets.
            """)

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("The workloads to measure.", valueName: "workload"))
    var workloads = Workload.allCases

    @Option(help: ArgumentHelp("The number of rounds. (default: 5, with --quick 3)", valueName: "n"))
    var rounds: Int?

    @Flag(help: "Measures smaller workloads in fewer rounds.")
    var quick = false

    @Option(
        help: ArgumentHelp(
            "The largest number of small files of a workload. (default: 10000, with --quick 2000)", valueName: "n"))
    var files: Int?

    @Option(
        help: ArgumentHelp("The length of the large file in MiB. (default: 1024, with --quick 256)", valueName: "n"))
    var mebibytes: Int?

    @Option(
        help: ArgumentHelp(
            "The directory for the tables, the measurements, and the charts: comparison.md, comparison.json, "
                + "performance.svg, and performance~dark.svg.", valueName: "dir"))
    var output: String?

    @Flag(help: "Writes one JSON object to standard output instead of the tables.")
    var json = false

    /// The sizes of the workloads, as the options determine them.
    var size: WorkloadSize {
        var size = quick ? WorkloadSize.quick : .full
        if let files {
            size.files = files
            size.delayedFiles = min(size.delayedFiles, files)
            size.origins = min(size.origins, max(1, files / WorkloadSize.filesPerOrigin))
        }
        if let mebibytes { size.mebibytes = mebibytes }
        return size
    }

    func validate() throws {
        guard [rounds, files, mebibytes].allSatisfy({ $0.map { $0 > 0 } ?? true }) else {
            throw ValidationError("--rounds, --files, and --mebibytes require positive numbers")
        }
    }

    func run() async throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let report = try await Comparison.measure(workloads, size, rounds: rounds ?? (quick ? 3 : 5))
        if let output { try report.write(to: URL(fileURLWithPath: output, isDirectory: true)) }
        print(json ? try ScaleReport.encode(report) : report.markdown)
    }
}
