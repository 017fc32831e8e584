internal import Foundation

/// The results of the subcommand `scale`.
struct ScaleReport: Sendable, Codable {
    let engine: Engine
    let queues: [QueueMeasurement]
    let drain: DrainMeasurement

    /// Returns a value as one JSON object on one line.
    static func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// The report as a human-readable table.
    var table: String {
        var lines = [
            "Downloads of one host that wait for a permit (\(engine.rawValue))", "",
            Self.row(["downloads", "bytes each", "requests s", "start s", "µs each", "cancel s", "µs each"]),
        ]
        for queue in queues {
            lines.append(
                Self.row([
                    "\(queue.downloads)", String(format: "%.0f", queue.bytesPerDownload),
                    queue.requestSeconds.thousandths, queue.startSeconds.thousandths, queue.startMicroseconds.tenths,
                    queue.cancelSeconds.thousandths,
                    queue.cancelMicroseconds.tenths,
                ]))
        }
        for (few, many) in zip(queues, queues.dropFirst()) {
            lines.append(
                "from \(few.downloads) to \(many.downloads), the cost of one download changes by the factors "
                    + "\((many.startMicroseconds / few.startMicroseconds).hundredths) (start) and "
                    + "\((many.cancelMicroseconds / few.cancelMicroseconds).hundredths) (cancel)")
        }
        let ratios = drain.ratios.map(\.hundredths).joined(separator: ", ")
        lines += [
            "",
            "\(drain.files) files of 4 KiB, \(drain.width) at a time: all started at once in "
                + "\(drain.startedSeconds.medianText) s, by a batch in \(drain.batchSeconds.medianText) s",
            "ratio \(drain.ratio.hundredths), of the rounds \(ratios)",
        ]
        return lines.joined(separator: "\n")
    }

    private static func row(_ cells: [String]) -> String {
        cells.map { String(repeating: " ", count: max(0, 12 - $0.count)) + $0 }.joined()
    }
}

extension QueueMeasurement {
    /// The time in which one download was started.
    var startMicroseconds: Double { startSeconds * 1_000_000 / Double(downloads) }

    /// The time in which one download was canceled.
    var cancelMicroseconds: Double { cancelSeconds * 1_000_000 / Double(downloads) }
}

extension [Double] {
    fileprivate var medianText: String { median.map(\.hundredths) ?? "" }
}

extension Double {
    fileprivate var tenths: String { String(format: "%.1f", self) }
    fileprivate var hundredths: String { String(format: "%.2f", self) }
    fileprivate var thousandths: String { String(format: "%.3f", self) }
}
