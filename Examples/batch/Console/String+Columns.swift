/// The width of text on a terminal, and the replacement of characters that could affect the terminal.
extension String {
    /// The number of columns that the text occupies on a terminal (Unicode's East Asian Width, rules of wcwidth(3)).
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// The text with U+FFFD for each character that could move the cursor, set colors, or change the text direction.
    var neutralized: String {
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            // Families of emoji and some scripts are written with joiners.
            case .format where scalar == "\u{200D}" || scalar == "\u{200C}":
                result.append(scalar)
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                result.append("\u{FFFD}")
            default:
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// Returns the text in at most `limit` columns, with an ellipsis at the end if it is cut.
    func truncated(to limit: Int) -> String {
        guard columns > limit else { return self }
        guard limit > 0 else { return "" }
        var result = ""
        var used = 1
        for character in self {
            used += character.columns
            if used > limit { break }
            result.append(character)
        }
        return result + "…"
    }

    /// Returns the text in at most `limit` columns, with an ellipsis in the middle if it is cut, so that the start of a name
    /// and its extension stay.
    func truncatedInMiddle(to limit: Int) -> String {
        guard columns > limit else { return self }
        guard limit > 1 else { return truncated(to: limit) }
        let (headLimit, tailLimit) = (limit / 2, limit - 1 - limit / 2)
        var (tail, used) = ("", 0)
        for character in reversed() {
            used += character.columns
            if used > tailLimit { break }
            tail.insert(character, at: tail.startIndex)
        }
        return String(truncated(to: headLimit + 1).dropLast()) + "…" + tail
    }

    /// Returns the text in exactly `width` columns, cut or padded with spaces at the end.
    func padded(to width: Int) -> String {
        let text = truncated(to: width)
        return text + String(repeating: " ", count: max(0, width - text.columns))
    }

    /// Returns the text in at least `width` columns, padded with spaces at the start.
    func aligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - columns)) + self
    }
}

extension Character {
    fileprivate var columns: Int {
        unicodeScalars.reduce(0) { max($0, $1.columns) }
    }
}

extension Unicode.Scalar {
    fileprivate var columns: Int {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: 0
        default: isWide ? 2 : 1
        }
    }

    private var isWide: Bool {
        guard value >= 0x1100 else { return false }
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x17000...0x18CFF, 0x1B000...0x1B2FF, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return true
        default:
            return properties.isEmojiPresentation
        }
    }
}
