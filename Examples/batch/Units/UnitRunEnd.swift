internal import AsyncDownloads

/// The end of the processing of a task's units, from which the exit status follows.
struct UnitRunEnd: Sendable {
    private static let failure: Int32 = 1

    /// The number of units of the task.
    var unitCount = 0
    /// The number of units that have reports.
    var reportCount = 0

    /// Returns the exit status of the run.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the downloads.
    ///   - signal: The signal that has stopped the run, if there was one.
    func exitStatus(_ outcome: RunOutcome, signal: Int32?) -> Int32 {
        if outcome.fullDisk != nil || !outcome.outputFailures.isEmpty || outcome.manifestFailure != nil {
            return Self.failure
        }
        if reportCount == unitCount { return 0 }
        return signal.map(Signals.exitStatus) ?? RunOutcome.temporaryFailure
    }

    /// Returns the lines that say how the run has ended, and how to continue.
    func lines(_ outcome: RunOutcome, isQuiet: Bool) -> [String] {
        var lines = outcome.outputFailures.map { "failed    \($0)" }
        if let failure = outcome.manifestFailure { lines.append("failed    \(failure)") }
        if let fullDisk = outcome.fullDisk { lines.append("failed    the disk is full (\(fullDisk.detail))") }
        let counts = "reports: \(reportCount) of \(Units.count(unitCount, "unit"))"
        if reportCount < unitCount {
            lines.append("\(counts); run the same command again to continue")
        } else if !isQuiet {
            lines.append(counts)
        }
        return lines
    }
}
