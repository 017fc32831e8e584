internal import ConformanceRows
internal import Foundation

/// The results of the subcommand `faults`.
struct FaultReport: Sendable, Codable {
    /// A row that was left out.
    struct Omission: Sendable, Hashable, Codable {
        let row: String
        let reason: String
    }

    let machine: String
    let versions: [String]
    /// The programs that are not installed.
    let missing: [Program]
    /// The trials in the order of the rows and of the programs.
    let trials: [FaultTrial]
    let omissions: [Omission]

    /// The programs that were run.
    var programs: [Program] { Program.faultPrograms.filter { program in trials.contains { $0.program == program } } }

    /// Writes the summary and a line for each row to `faults.md` in a directory, which is created if necessary.
    func write(to directory: URL) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data((summary + "\n\n" + details + "\n").utf8).write(to: directory.appending(path: "faults.md"))
    }
}

/// The verdicts and the bytes of one program.
struct FaultTally: Sendable, Hashable {
    private var counts: [FaultVerdict: Int] = [:]
    private var sent: Int64 = 0
    private var needed: Int64 = 0

    init(_ trials: some Sequence<FaultTrial>) {
        for trial in trials {
            counts[trial.verdict, default: 0] += 1
            if trial.verdict == .rightFile {
                sent += trial.sentByteCount
                needed += trial.fileByteCount
            }
        }
    }

    /// Returns the number of trials with this verdict.
    subscript(verdict: FaultVerdict) -> Int { counts[verdict] ?? 0 }

    /// The number of trials in which the program did what a user can expect.
    var rightCount: Int { counts.filter(\.key.isRight).map(\.value).reduce(0, +) }

    /// The number of body bytes that were sent for each byte of the right files; nil if there is no such file.
    var costOfRightFiles: Double? { needed > 0 ? Double(sent) / Double(needed) : nil }
}
