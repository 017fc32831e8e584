internal import AsyncDownloads

extension LiveDisplay {
    /// The maximum number of shown hosts that downloads are waiting for.
    private static let mostWaits = 3

    /// Returns the lines as of `now`, the time since the start of the run; none reaches the last column.
    ///
    /// - Parameters:
    ///   - columns: The width of the terminal.
    ///   - height: The rows of the terminal, one of which is reserved for the cursor.
    ///   - now: The time since the start of the run.
    ///   - usesColor: Whether the lines contain color sequences.
    func lines(columns: Int, height: Int, now: Duration, usesColor: Bool = false) -> [String] {
        let waits = waits.present(at: now).prefix(max(0, min(Self.mostWaits, height - 2)))
        let room = max(0, height - 2 - waits.count)
        let ids = rows.keys.sorted()
        let shown = ids.prefix(ids.count > room ? max(0, room - 1) : ids.count).compactMap { rows[$0] }
        let names = Self.names(of: shown.map(\.path))
        let layout = Layout(columns: columns, longestName: names.map(\.columns).max() ?? 0)
        var lines = zip(shown, names).map { $0.line($1, layout, now: now, usesColor: usesColor) }
        if shown.count < ids.count, room > 0 {
            lines.append("and \(ids.count - shown.count) more".truncated(to: layout.width))
        }
        lines += waits.map { "waiting \($0.text(at: now))".neutralized.truncated(to: layout.width) }
        lines.append(totalLine(width: layout.width))
        return lines
    }

    /// Returns the names of files that are shown together: with their directories where names are equal.
    private static func names(of paths: [String]) -> [String] {
        let names = paths.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
        let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
        return zip(paths, names).map { path, name in counts[name] == 1 ? name : path }
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
    private static let (leastName, leastBar, mostBar, gap) = (12, 10, 32, 2)

    /// Creates the layout for a terminal, on which names get the space that they need before bars do.
    init(columns: Int, longestName: Int) {
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
        let needsBar = take(Self.leastBar)
        let more = min(room, max(0, longestName - name))
        (name, room) = (name + more, room - more)
        if needsBar { bar = min(Self.mostBar, Self.leastBar + room) }
    }
}

extension LiveDisplay.Row {
    fileprivate func line(_ name: String, _ layout: Layout, now: Duration, usesColor: Bool) -> String {
        let start = name.truncatedInMiddle(to: layout.name).padded(to: layout.name)
        switch phase {
        case .receiving:
            return ([start] + cells(layout, usesColor: usesColor)).joined(separator: "  ").trimmingEnd()
        case .verifying: return annotated(start, "verifying", layout)
        case .paused: return annotated(start, "paused at \(Units.bytes(progress.receivedByteCount))", layout)
        case .retrying(let time, let reason):
            // Afterward, the download waits for its server or for others.
            guard time > now else { return annotated(start, "waiting (\(reason))", layout) }
            // The wait is rounded up, so that the countdown ends at 1 and not at 0.
            return annotated(start, "retrying in \(Units.clock(time - now + .milliseconds(999))) (\(reason))", layout)
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
