internal import AsyncDownloads
internal import Foundation

/// A receiver of the results of a run.
protocol ResultSink: Sendable {
    /// The files whose digests are wanted.
    var digests: DigestNeed { get }

    /// Records an event.
    ///
    /// - Throws: The reason why no more results can be recorded, so that the run has to end.
    func take(_ event: RunEvent) async throws(Misuse)

    /// Completes the results at the end of the run, and returns the reasons if that fails.
    func finish(_ tally: Tally) async -> [String]
}

/// The finished files whose digests a receiver of results wants.
enum DigestNeed: Sendable, Hashable {
    case none
    /// The files that were downloaded in this run.
    case new
    /// All finished files, including those that existed already.
    case all
}

/// The files with the results of a run: the report, and the manifest of the failed downloads.
actor RunResults: ResultSink {
    private var report: ResultFile?
    private var failures: ResultFile?
    private var hasDownloads = false
    nonisolated let digests: DigestNeed

    /// Prepares the files that the options name.
    ///
    /// The queries of URLs may be secret, so only the user can read the manifest.
    init(report: String? = nil, failures: String? = nil) throws(Misuse) {
        self.report = if let report { try ResultFile(report) } else { nil }
        self.failures = if let failures { try ResultFile(failures, permissions: 0o600) } else { nil }
        digests = report == nil ? .none : .new
    }

    func take(_ event: RunEvent) {
        if case .success(.finished(let file)) = event.what {
            // Paths that the manifest names were compared before; this one may be the server's suggestion.
            report?.protect(file.url)
            failures?.protect(file.url)
        }
        if event.isFailure { failures?.add(event.original.manifestLines()) }
        guard report != nil, let object = JSONLine(result: event, sha256: event.sha256) else { return }
        report?.add((hasDownloads ? ",\n    " : "\n    ") + object.description)
        hasDownloads = true
    }

    func finish(_ tally: Tally) -> [String] {
        let summary = JSONLine(report: tally).description.dropLast()
        // The file that keeps its path is written first, so that the other one doesn't get that path as its numbered one.
        let isReportFirst = failures?.isOccupied == true
        var problems: [Misuse?] = isReportFirst ? [] : [failures?.finish()]
        problems.append(
            report?.finish(
                header: "\(summary),\"downloads\":[", trailer: hasDownloads ? "\n]}\n" : "]}\n"))
        if isReportFirst { problems.append(failures?.finish()) }
        return problems.compactMap { $0?.description }
    }
}
