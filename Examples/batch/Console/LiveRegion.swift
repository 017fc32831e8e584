#if ServerStack
/// The lines at the bottom of a terminal that are drawn over and over, below those that stay.
///
/// A value: it answers with what is to be written. The cursor rests at the beginning of the line below the region.
struct LiveRegion: Sendable {
    private var drawn: [String] = []

    /// What draws `lines` in place of those that are there, and `lasting` above them for good; empty where there is
    /// nothing new.
    ///
    /// - Parameter columns: The terminal's width now. If it has shrunk, the lines that are there take more rows.
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
    /// Its columns without the sequences that set colours.
    fileprivate var visibleColumns: Int {
        split(separator: "\u{1B}[", omittingEmptySubsequences: false).enumerated().reduce(0) { sum, part in
            let text = part.offset == 0 ? part.element : part.element.drop { $0 != "m" }.dropFirst()
            return sum + String(text).columns
        }
    }
}
#endif
