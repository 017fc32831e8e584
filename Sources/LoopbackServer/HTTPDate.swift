internal import struct Foundation.Date

/// A time with a precision of one second, written as an IMF-fixdate (RFC 9110, 5.6.7).
struct HTTPDate: Comparable {
    /// The number of seconds since January 1, 1970, UTC.
    var seconds: Int64

    init(seconds: Int64) {
        self.seconds = seconds
    }

    static var now: HTTPDate {
        HTTPDate(seconds: Int64(Date().timeIntervalSince1970))
    }

    /// Parses a date such as `Sun, 06 Nov 1994 08:49:37 GMT`; the obsolete formats are rejected.
    ///
    /// Requests are untrusted, so numbers with more digits than the format allows are rejected: computing with them
    /// would overflow.
    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", let day = Self.number(words[1], digits: 2, in: 1...31),
            let year = Self.number(words[3], digits: 4, in: 1...9999),
            let month = Self.months.firstIndex(of: String(words[2]))
        else { return nil }
        let limits: [ClosedRange<Int64>] = [0...23, 0...59, 0...60]
        let texts = words[4].split(separator: ":", omittingEmptySubsequences: false)
        let clock = zip(texts, limits).compactMap { Self.number($0, digits: 2, in: $1) }
        guard texts.count == 3, clock.count == 3 else { return nil }
        let days = Self.days(year: year, month: Int64(month) + 1, day: day)
        seconds = days * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
    }

    static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.seconds < right.seconds
    }

    private static func number(_ text: Substring, digits: Int, in range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
            let number = Int64(text), range.contains(number)
        else { return nil }
        return number
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// Returns the number of days since January 1, 1970 in the Gregorian calendar.
    ///
    /// Years are counted from March, so that a leap day is the last day of its year.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}

extension HTTPDate: CustomStringConvertible {
    var description: String {
        // The division rounds down, so that dates before 1970 are correct too.
        let days = (seconds - (seconds % 86_400 + 86_400) % 86_400) / 86_400
        let second = seconds - days * 86_400
        var year = 1970 + (days < 0 ? days / 365 - 1 : days / 366)
        while Self.days(year: year + 1, month: 1, day: 1) <= days { year += 1 }
        var month: Int64 = 1
        while month < 12, Self.days(year: year, month: month + 1, day: 1) <= days { month += 1 }
        let day = days - Self.days(year: year, month: month, day: 1) + 1
        let clock = [second / 3_600, second / 60 % 60, second % 60].map(Self.twoDigits).joined(separator: ":")
        let digits = "\(year)"
        let paddedYear = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        let date = "\(Self.twoDigits(day)) \(Self.months[Int(month) - 1]) \(paddedYear)"
        return "\(Self.weekdays[Int((days % 7 + 7) % 7)]), \(date) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
