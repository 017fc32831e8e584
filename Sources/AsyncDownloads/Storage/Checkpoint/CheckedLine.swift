/// A line of words that ends with a CRC-32, so that a torn or edited line is detected.
enum CheckedLine {
    /// Returns the bytes of a line, or nil if it is longer than `limit`.
    static func encoded(_ words: [String], limit: Int) -> [UInt8]? {
        var line = Array("\(words.joined(separator: " ")) ".utf8)
        guard line.count < limit else { return nil }
        line += "\(CRC32.digits(of: line.dropLast()))\n".utf8
        return line.count <= limit ? line : nil
    }

    /// Returns the words at the start of `slot` without the CRC-32, or nil if the line is missing or torn.
    static func words(of slot: ArraySlice<UInt8>) -> [Substring]? {
        // A slot without a line contains zeros.
        guard slot.first != 0, let end = slot.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = slot[..<end]
        guard line.count > 9, line.dropLast(8).last == UInt8(ascii: " "),
            CRC32.digits(of: line.dropLast(9)) == String(decoding: line.suffix(8), as: UTF8.self)
        else { return nil }
        return String(decoding: line.dropLast(9), as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    }
}

extension IntervalSet {
    /// Returns the ranges as one word, such as `0-1048576,2097152-3145728`, or nil if it is longer than `limit` bytes.
    ///
    /// The word of an empty set is `-`.
    func word(limit: Int) -> String? {
        if isEmpty { return "-" }
        var word = ""
        for range in ranges {
            word += "\(word.isEmpty ? "" : ",")\(range.lowerBound)-\(range.upperBound)"
            if word.utf8.count > limit { return nil }
        }
        return word
    }

    /// Parses a word that ``word(limit:)`` returned.
    init?(word: Substring) {
        let ranges = word == "-" ? [] : word.split(separator: ",", omittingEmptySubsequences: false)
        self.init(
            pairs: ranges.map { range in
                // The number -1 makes the pair invalid if the text isn't a number.
                range.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) ?? -1 }
            })
    }
}
