/// The range of a Range field that requests a single one (RFC 9110, 14.1.2).
enum RequestRange: Equatable {
    case from(Int64, through: Int64?)
    case last(Int64)

    /// Parses a field value; returns `nil` for another unit, several ranges, or a malformed value.
    ///
    /// A server ignores such a Range (RFC 9110, 14.2).
    init?(_ field: String) {
        guard let equals = field.firstIndex(of: "="), field[..<equals].lowercased() == "bytes" else { return nil }
        let ends = field[field.index(after: equals)...].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (Self.number(ends[0]), Self.number(ends[1])) {
        case (let first?, nil) where ends[1].isEmpty:
            self = .from(first, through: nil)
        case (let first?, let last?) where first <= last:
            self = .from(first, through: last)
        case (nil, let count?) where ends[0].isEmpty:
            self = .last(count)
        default:
            return nil
        }
    }

    /// Returns the selected bytes of a representation with this length; `nil` if the range is unsatisfiable.
    func resolved(length: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last):
            first < length ? first..<(min(last ?? .max, length - 1) + 1) : nil
        case .last(let count):
            count > 0 ? max(0, length - count)..<length : nil
        }
    }

    /// Parses a number; those that exceed 64 bits, which a server must expect, become the greatest one.
    private static func number(_ digits: Substring) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
            return nil
        }
        return Int64(digits) ?? .max
    }
}
