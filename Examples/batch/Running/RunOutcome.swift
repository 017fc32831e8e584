internal import AsyncDownloads

/// The end of a run, from which its exit status follows.
struct RunOutcome: Sendable {
    /// The status of a run after which the same command may succeed (EX_TEMPFAIL of sysexits.h).
    static let temporaryFailure: Int32 = 75
    private static let usage: Int32 = 64
    private static let failure: Int32 = 1

    var tally: Tally
    /// The error of a full disk, which has ended the run.
    var fullDisk: DownloadError?
    /// The error of a manifest, after which no more lines were read.
    var manifestFailure: ManifestFailure?
    /// The reason why the new version of a directory, which is replaced in one step, wasn't published.
    var publicationFailure: String?
    /// The reasons why files with the results can't be written.
    var outputFailures: [String] = []

    /// Returns the exit status of the run.
    ///
    /// - Parameter signal: The signal that has stopped the run, if there was one.
    func exitStatus(signal: Int32?) -> Int32 {
        if let signal, tally.isInterrupted { return Signals.exitStatus(of: signal) }
        if fullDisk != nil || !outputFailures.isEmpty { return Self.failure }
        if manifestFailure != nil { return Self.usage }
        if tally.passing > 0 { return Self.temporaryFailure }
        return tally.failed > 0 || publicationFailure != nil ? Self.failure : 0
    }

    /// The lines after the summary that say why the run has ended, and how to continue.
    func lines(signal: Int32?) -> [String] {
        var lines = outputFailures.map { "failed    \($0)" }
        if let fullDisk {
            let reason = fullDisk.detail.isEmpty ? "" : " (\(fullDisk.detail))"
            lines.append(
                "the disk is full\(reason); \(tally.remainder); free some space, and run the same command again to continue"
            )
        } else if let manifestFailure {
            lines.append("Error: \(manifestFailure)")
        } else if signal != nil, tally.isInterrupted {
            lines.append("interrupted; \(tally.remainder); run the same command again to continue")
        } else if tally.passing > 0 {
            let files = Units.count(tally.passing, "file")
            lines.append("\(files) failed for a reason that may pass; run the same command again to continue")
        }
        if let publicationFailure { lines.append(publicationFailure) }
        return lines
    }
}

extension DownloadError {
    /// Whether the same command may succeed later, for example because it continues from the bytes that were kept when a
    /// deadline passed.
    var mayPass: Bool { isRetryable || code == .deadlineExceeded }
}
