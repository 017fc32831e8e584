/// The lines at the bottom of a terminal that are redrawn in place, below the lines that stay.
///
/// It is a value without side effects: its method returns the text to write. Between frames, the cursor is at the start
/// of the line below the region.
struct LiveRegion: Sendable {
    private var drawn: [String] = []

    /// Returns the text that replaces the region by `lines` and inserts `lasting` above it; empty if nothing changes.
    ///
    /// - Parameters:
    ///   - lasting: Lines that stay on the terminal.
    ///   - lines: The new lines of the region.
    ///   - columns: The current width of the terminal. If it has shrunk, the current lines occupy more rows.
    mutating func frame(lasting: [String] = [], lines: [String], columns: Int) -> String {
        guard !lasting.isEmpty || lines != drawn else { return "" }
        let rows = drawn.reduce(0) { $0 + max(1, ($1.visibleColumns + columns - 1) / max(1, columns)) }
        var text = rows > 0 ? "\r\u{1B}[\(rows)A" : ""
        for line in lasting + lines { text += "\(line)\u{1B}[K\n" }
        drawn = lines
        return text + "\u{1B}[J"
    }
}

extension String {
    /// The number of columns that the text occupies, not counting color sequences.
    fileprivate var visibleColumns: Int {
        split(separator: "\u{1B}[", omittingEmptySubsequences: false).enumerated().reduce(0) { sum, part in
            let text = part.offset == 0 ? part.element : part.element.drop { $0 != "m" }.dropFirst()
            return sum + String(text).columns
        }
    }
}
