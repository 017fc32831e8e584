internal import Foundation

extension SoakReport {
    /// The report as a human-readable table.
    var table: String {
        let rate = String(format: "%.0f", downloadsPerSecond)
        var lines = [
            "\(downloads) downloads over \(engine.rawValue), seed \(seed): \(seconds.short) s, \(rate) per second", "",
            Self.row(["downloads", "seconds", "RSS MiB", "descriptors", "threads", "handles"]),
        ]
        lines.append(Self.row(["before", ""] + Self.cells(before)))
        for tenth in tenths {
            lines.append(
                Self.row(
                    ["\(tenth.downloads)", tenth.seconds.short] + Self.cells(tenth.process) + ["\(tenth.handles)"]))
        }
        lines.append(Self.row(["after", ""] + Self.cells(after)))
        lines += [
            "",
            "ends      " + Self.list(outcomes),
            "events    " + Self.list(events) + ", of the downloads with a listener",
            "shared    \(joined) joined a running transfer",
            "files     \(finishedFiles) finished; \(keptFiles) unfinished were kept, then resumed or discarded",
            "memory    \(memory.early.mebibytes) MiB early, \(memory.late.mebibytes) MiB late, "
                + "an increase of \(memory.allowed.mebibytes) MiB is allowed",
        ]
        lines += findings.isEmpty ? ["", "No leaks or errors were found."] : [""] + findings.map { "FOUND \($0)" }
        return lines.joined(separator: "\n")
    }

    private static func cells(_ sample: ProcessSample) -> [String] {
        [sample.residentBytes.mebibytes, "\(sample.descriptors)", "\(sample.threads)"]
    }

    private static func row(_ cells: [String]) -> String {
        cells.map { String(repeating: " ", count: max(0, 12 - $0.count)) + $0 }.joined()
    }

    private static func list(_ counts: [String: Int]) -> String {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) \($0.key)" }.joined(
            separator: ", ")
    }
}

extension Double {
    fileprivate var short: String { String(format: "%.1f", self) }
}

extension Int64 {
    fileprivate var mebibytes: String { String(format: "%.1f", Double(self) / Double(1 << 20)) }
}
