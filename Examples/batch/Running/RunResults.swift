internal import AsyncDownloads
internal import Foundation

/// The files with the results of a run: the report, and the manifest of what has failed.
struct RunResults {
    private var report: ResultFile?
    private var failures: ResultFile?
    private var hasDownloads = false

    /// Prepares the files that the options name.
    ///
    /// The queries of URLs may be secret, so only the user can read the manifest.
    init(report: String? = nil, failures: String? = nil) throws(Misuse) {
        self.report = if let report { try ResultFile(report) } else { nil }
        self.failures = if let failures { try ResultFile(failures, permissions: 0o600) } else { nil }
    }

    /// Whether the digests of finished files are wanted.
    var needsDigests: Bool { report != nil }

    /// Records the end of a download.
    mutating func take(_ event: RunEvent, original: Item) {
        if case .failure = event.what { failures?.add(original.manifestLines) }
        guard report != nil, let object = JSONLine(result: event) else { return }
        report?.add((hasDownloads ? ",\n    " : "\n    ") + object.description)
        hasDownloads = true
    }

    /// Writes the files, and returns the reasons if that fails.
    mutating func finish(_ tally: Tally, isInterrupted: Bool) -> [String] {
        let summary = JSONLine(report: tally, isInterrupted: isInterrupted).description.dropLast()
        let failed = [
            report?.finish(
                header: "\(summary),\"downloads\":[", trailer: hasDownloads ? "\n]}\n" : "]}\n"),
            failures?.finish(),
        ]
        return failed.compactMap { $0?.description }
    }
}

extension Item {
    /// The lines of a manifest that describe the item, without user names, passwords, and secret headers.
    fileprivate var manifestLines: String {
        var lines = [address.withoutCredentials]
        if let output {
            lines.append("  out=\(output.path)")
        } else if let numberedName {
            lines.append("  out=\(path(named: numberedName))")
        }
        if output == nil, numberedName == nil, !subdirectory.isEmpty, !isSubdirectoryFromURL {
            lines.append("  dir=\(subdirectory)")
        }
        if let checksum { lines.append("  checksum=\(checksum.algorithm.rawValue)=\(checksum.hex)") }
        if let byteCount { lines.append("  size=\(byteCount)") }
        lines += publicHeaders.map { "  public-header=\($0.name): \($0.value)" }
        lines += mirrors.map { "  mirror=\($0.withoutCredentials)" }
        return lines.map { $0 + "\n" }.joined()
    }
}
