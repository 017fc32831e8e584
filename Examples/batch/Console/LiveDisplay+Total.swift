internal import AsyncDownloads

extension LiveDisplay {
    /// The state of the whole run.
    struct Total: Sendable, Hashable {
        /// The part of the work that is done, from 0 to 1; nil if it isn't known.
        var fraction: Double?
        var timeLeft: Duration?
    }

    /// The number of files that haven't started.
    var waitingCount: Int { max(0, tally.total - tally.finished - tally.failed - rows.count) }

    /// The state of the whole run, in which a file of unknown length counts as one of average length.
    var state: Total {
        guard tally.isTotalKnown, tally.total > 0 else { return Total() }
        let received = rows.values.reduce(tally.bytes) { $0 + $1.progress.receivedByteCount }
        let unknown = tally.total - tally.failed - known.count
        guard known.count > 0, known.bytes > 0 else {
            return Total(fraction: Double(tally.finished + tally.failed) / Double(tally.total))
        }
        let average = Double(known.bytes) / Double(known.count)
        let expected = Double(known.bytes) + Double(max(0, unknown)) * average
        var total = Total(fraction: min(1, Double(received) / expected))
        if let rate = rate.bytesPerSecond, rate >= 1 {
            total.timeLeft = .seconds(min(max(0, expected - Double(received)) / rate, 1e9))
        }
        return total
    }

    /// Returns the line of totals in at most `width` columns; the least important parts are dropped first.
    func totalLine(width: Int) -> String {
        let state = state
        let running = rows.values.count { $0.phase != .paused }
        let received = rows.values.reduce(tally.bytes) { $0 + $1.progress.receivedByteCount }
        // The parts in their order, and their importance.
        var parts: [(text: String, rank: Int)] = [
            (state.fraction.map { "\(Int($0 * 100))%" } ?? "", 1),
            ("\(tally.finished)\(tally.isTotalKnown ? "/" : " of at least ")\(Units.count(tally.total, "file"))", 0),
            (tally.failed > 0 ? "\(tally.failed) failed" : "", 3),
            ("\(running) running", 4),
            ("\(waitingCount) waiting", 5),
            (Units.bytes(received), 7),
            (Units.speed(rate.bytesPerSecond), 6),
            (state.timeLeft.map { "\(Units.clock($0)) left" } ?? "", 2),
        ].filter { !$0.0.isEmpty }
        func text() -> String { parts.map(\.text).joined(separator: "  ") }
        while text().columns > width, parts.count > 1, let last = parts.max(by: { $0.rank < $1.rank }) {
            parts.removeAll { $0.rank == last.rank }
        }
        return text().truncated(to: width)
    }
}
