import AsyncDownloads

extension SplitMix64 {
    /// Returns a random text of up to 40 pieces, some typical of field values and some likely to break parsers.
    mutating func fieldValue() -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...40, using: &self) {
            text += Self.pieces.randomElement(using: &self) ?? ""
        }
        return text
    }

    private static let pieces = [
        "bytes", "BYTES", "none", "attachment", "filename", "filename*", "UTF-8''", "iso-8859-1'en'", "W/", "gzip",
        "identity", "Sun", "Sunday", "Nov", "GMT", "Feb", "con", "com1", ".txt", "..", "http://", "https://a", "@", "#",
        "0", "5", "06", "29", "1994", "08:49:37", "23:59:60", "9223372036854775807", "9223372036854775808",
        "99999999999999999999999999", " ", "  ", "\t", "-", "/", "\\", "*", ",", ", ", ";", ":", "=", "\"", "'", "%",
        "%4", "%41", "%c3%a9", "%ff", "%00", "\r\n", "\0", "\u{7F}", "é", "e\u{301}", "€", "日本", "👩‍👩‍👧‍👦", "\u{202E}",
        "\u{200B}", "\u{FEFF}", "\u{FFFD}", "\u{FFFF}", "\u{212A}", "\u{2028}", String(repeating: "a", count: 120),
    ]
}
