internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

/// The command `batch units`, which downloads the units of one task.
struct UnitsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch units",
        abstract: "Downloads the units of one task out of several, which an engine such as Slurm or Kubernetes starts.",
        discussion: """
            When all downloads of a unit have ended, its report is written to done/UNIT.json in the output directory. A \
            unit that has a report is never processed again, so recovery means to submit the same command again, with \
            any number of tasks.

            Exit status: 0 if all units of the task have reports, in which a file that can't be downloaded is a result like any \
            other; 75 if downloads of a unit failed for a reason that may pass, so that the same command tries them again, up to \
            --attempts times; 1 for any other failure, such as a full disk or wrong usage; 130, 143, or 129 if SIGINT, SIGTERM, or \
            SIGHUP interrupted the run.
            """)

    /// The forms in which the files of a unit are stored.
    enum Packing: String, CaseIterable, ExpressibleByArgument {
        case tar
    }

    @Argument(help: ArgumentHelp("The directory of units that batch split has written.", valueName: "dir"))
    var units: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The directory for files and reports, created if necessary.", valueName: "dir"))
    var directory: String

    @Option(
        help: ArgumentHelp(
            "The number of this task, from 0 on, or auto for the one that SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, "
                + "AWS_BATCH_JOB_ARRAY_INDEX, or CLOUD_RUN_TASK_INDEX names. (default: 0)", valueName: "n"),
        transform: TaskNumber.init)
    var task: TaskNumber?

    @Option(
        name: .customLong("of"),
        help: ArgumentHelp("The number of tasks, which may differ each time. (default: 1)", valueName: "n"))
    var taskCount: Int?

    @Option(
        help: ArgumentHelp(
            "Stores the files of each unit in one archive, such as 000123.tar. (default: as files)", valueName: "tar"))
    var pack: Packing?

    @Option(
        help: ArgumentHelp(
            "The number of times that a unit is processed until its passing failures are final.", valueName: "n"))
    var attempts = 5

    @OptionGroup var transfers: TransferOptions

    @OptionGroup var display: DisplayOptions

    func validate() throws {
        if directory.isEmpty { throw ValidationError("the directory is empty") }
        if let taskCount, taskCount < 1 { throw ValidationError("--of requires a number of at least 1") }
        if transfers.existing == .fail {
            throw ValidationError(
                "--existing fail cannot be used, because a task that is started again finds its files")
        }
        guard attempts >= 1 else { throw ValidationError("--attempts requires a number of at least 1") }
        if let task, task != .number(0), taskCount == nil { throw ValidationError("--task requires --of") }
        if let taskCount, taskCount > 1, task == nil { throw ValidationError("--of requires --task") }
    }

    func run() async throws {
        let taskCount = taskCount ?? 1
        let number = try (task ?? .number(0)).resolved(in: ProcessInfo.processInfo.environment)
        guard 0..<taskCount ~= number else {
            throw Misuse("the task has the number \(number), but --of \(taskCount) permits 0 to \(taskCount - 1)")
        }
        let folders = UnitFolders(
            units: URL(fileURLWithPath: units, isDirectory: true),
            output: URL(fileURLWithPath: directory, isDirectory: true), isPacked: pack != nil)
        let index = try UnitIndex(of: folders.units)
        try folders.create()
        let run = UnitRun(
            index.lanes(ofTask: number, of: taskCount), in: folders, attemptLimit: attempts,
            openFileLimit: OpenFileLimit.raise(), isQuiet: display.quiet)
        let (outcome, signal) = try await transfers.download(
            UnitSource(run: run), console: display.console(keepsFiles: transfers.existing == .keep), results: run)
        let end = await run.end
        for line in end.lines(outcome, isQuiet: display.quiet) { StandardError.write("\(line)\n") }
        let status = end.exitStatus(outcome, signal: signal)
        if status != 0 { throw ExitCode(status) }
    }
}

/// The number of a task, or the request to find it in the environment.
enum TaskNumber: Sendable, Hashable {
    case number(Int)
    case automatic

    /// The variables in which engines pass the number of a task: Slurm, Kubernetes, AWS Batch, and Google Cloud Run.
    private static let variables = [
        "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX", "CLOUD_RUN_TASK_INDEX",
    ]

    init(_ text: String) throws(Misuse) {
        if text == "auto" {
            self = .automatic
        } else if let number = Int(text), number >= 0 {
            self = .number(number)
        } else {
            throw Misuse("--task requires a number of at least 0, or auto")
        }
    }

    /// Returns the number.
    func resolved(in environment: [String: String]) throws(Misuse) -> Int {
        switch self {
        case .number(let number): return number
        case .automatic:
            guard let name = Self.variables.first(where: { environment[$0]?.isEmpty == false }) else {
                throw Misuse("--task auto requires one of the variables \(Self.variables.joined(separator: ", "))")
            }
            guard let number = environment[name].flatMap({ Int($0) }) else { throw Misuse("\(name) is not a number") }
            return number
        }
    }
}
