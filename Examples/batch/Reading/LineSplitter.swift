/// Splits bytes that arrive in pieces into lines.
struct LineSplitter: Sendable {
    /// The maximum length of a line, which limits the memory for a file that isn't text.
    private static let maximumByteCount = 1 << 20

    private var bytes: [UInt8] = []
    /// The position of the first byte that no line contains.
    private var start = 0
    /// The position up to which the bytes were searched for the end of a line.
    private var searched = 0

    /// The bytes that no line contains yet.
    var rest: ArraySlice<UInt8> { bytes[start...] }

    /// Adds a piece, which is shorter than the longest line.
    mutating func append(_ piece: some Collection<UInt8>) throws(Misuse) {
        if start > 0 {
            bytes.removeSubrange(..<start)
            (start, searched) = (0, searched - start)
        }
        bytes += piece
        let lastStart = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        guard bytes.count - lastStart < Self.maximumByteCount else { throw Misuse("a line is longer than 1 MiB") }
    }

    /// Returns the next line, without its LF; nil if none is complete.
    mutating func next() -> ArraySlice<UInt8>? {
        guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            return nil
        }
        defer { (start, searched) = (end + 1, end + 1) }
        return bytes[start..<end]
    }

    /// Returns the last line if it has no LF; nil if there is none.
    mutating func finish() -> ArraySlice<UInt8>? {
        defer { (start, searched) = (bytes.count, bytes.count) }
        return start < bytes.count ? bytes[start...] : nil
    }
}
