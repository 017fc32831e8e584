internal import AsyncDownloads

extension LiveDisplay {
    /// Returns the lines as of `now`, the time since the start of the run; none reaches the last column.
    ///
    /// - Parameters:
    ///   - columns: The width of the terminal.
    ///   - height: The rows of the terminal, one of which is reserved for the cursor.
    ///   - now: The time since the start of the run.
    ///   - usesColor: Whether the lines contain color sequences.
    func lines(columns: Int, height: Int, now: Duration, usesColor: Bool = false) -> [String] {
        let layout = Layout(columns: columns)
        let room = max(0, height - 2)
        let ids = rows.keys.sorted()
        let shown = ids.count > room ? max(0, room - 1) : ids.count
        var lines = ids.prefix(shown).compactMap { rows[$0]?.line(layout, now: now, usesColor: usesColor) }
        if shown < ids.count, room > 0 { lines.append("and \(ids.count - shown) more".truncated(to: layout.width)) }
        lines.append(total(now: now).truncated(to: layout.width))
        return lines
    }

    private func total(now: Duration) -> String {
        let received = rows.values.reduce(tally.bytes) { $0 + $1.progress.receivedByteCount }
        let speed = rows.values.filter { $0.phase == .receiving }.compactMap(\.progress.bytesPerSecond).reduce(0, +)
        var parts = ["\(tally.finished)/\(Units.count(tally.total, "file"))"]
        if tally.failed > 0 { parts.append("\(tally.failed) failed") }
        parts += [Units.bytes(received), Units.speed(speed), Units.clock(now)]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}

/// The columns that fit the width of the terminal; the least important ones are dropped first.
private struct Layout {
    /// The usable width; the last column stays empty because some terminals wrap the line when it is written to.
    let width: Int
    var name: Int
    var bar = 0
    var showsPercent = false
    var showsAmounts = false
    var showsSpeed = false
    var showsTime = false

    static let (percent, amounts, speed, time) = (4, 19, 11, 8)
    private static let (leastName, mostName, leastBar, mostBar, gap) = (12, 40, 10, 32, 2)

    init(columns: Int) {
        width = max(0, columns - 1)
        name = min(width, Self.leastName)
        var room = width - name
        func take(_ columns: Int) -> Bool {
            guard room >= columns + Self.gap else { return false }
            room -= columns + Self.gap
            return true
        }
        showsPercent = take(Self.percent)
        showsSpeed = showsPercent && take(Self.speed)
        showsTime = showsSpeed && take(Self.time)
        showsAmounts = showsTime && take(Self.amounts)
        if room >= Self.leastBar + Self.gap {
            bar = min(Self.mostBar, max(Self.leastBar, room / 2))
            room -= bar + Self.gap
        }
        name = min(name + room, Self.mostName)
    }
}

extension LiveDisplay.Row {
    fileprivate func line(_ layout: Layout, now: Duration, usesColor: Bool) -> String {
        let start = name.padded(to: layout.name)
        switch phase {
        case .receiving:
            return ([start] + cells(layout, usesColor: usesColor)).joined(separator: "  ").trimmingEnd()
        case .verifying: return annotated(start, "verifying", layout)
        case .paused: return annotated(start, "paused at \(Units.bytes(progress.receivedByteCount))", layout)
        case .retrying(let time, let reason):
            // The wait is rounded up, so that the countdown ends at 1 and not at 0.
            let wait = max(.zero, time - now + .milliseconds(999))
            return annotated(start, "retrying in \(Units.clock(wait)) (\(reason))", layout)
        }
    }

    private func annotated(_ start: String, _ note: String, _ layout: Layout) -> String {
        "\(start)  \(note)".truncated(to: layout.width)
    }

    private func cells(_ layout: Layout, usesColor: Bool) -> [String] {
        var cells: [String] = []
        let fraction = progress.fractionCompleted
        if layout.bar > 0 { cells.append(bar(fraction, layout.bar, usesColor: usesColor)) }
        if layout.showsPercent {
            cells.append((fraction.map { "\(Int($0 * 100))%" } ?? "").aligned(to: Layout.percent))
        }
        if layout.showsAmounts {
            let total = progress.expectedByteCount.map { "/" + Units.bytes($0) } ?? ""
            cells.append((Units.bytes(progress.receivedByteCount) + total).aligned(to: Layout.amounts))
        }
        if layout.showsSpeed { cells.append(Units.speed(progress.bytesPerSecond).aligned(to: Layout.speed)) }
        if layout.showsTime {
            cells.append((progress.timeRemaining.map { Units.clock($0) } ?? "").aligned(to: Layout.time))
        }
        return cells
    }

    private func bar(_ fraction: Double?, _ width: Int, usesColor: Bool) -> String {
        let room = width - 2
        let filled = Int((fraction ?? 0) * Double(room))
        let full = String(repeating: "=", count: filled)
        let rest = String(repeating: fraction == nil ? "?" : " ", count: room - filled)
        return usesColor ? "[\u{1B}[36m\(full)\u{1B}[0m\(rest)]" : "[\(full)\(rest)]"
    }
}

extension String {
    fileprivate func trimmingEnd() -> String {
        lastIndex { $0 != " " }.map { String(self[...$0]) } ?? ""
    }
}
