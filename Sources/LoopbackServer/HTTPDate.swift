internal import struct Foundation.Date

/// A time to the second, written as an IMF-fixdate (RFC 9110, 5.6.7).
struct HTTPDate: Comparable {
    /// Since 1970.
    var seconds: Int64

    init(seconds: Int64) {
        self.seconds = seconds
    }

    static var now: HTTPDate {
        HTTPDate(seconds: Int64(Date().timeIntervalSince1970))
    }

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`; the obsolete forms are not read.
    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]), let year = Int64(words[3]),
            let month = Self.months.firstIndex(of: String(words[2]))
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int64($0) }
        guard clock.count == 3 else { return nil }
        let days = Self.days(year: year, month: Int64(month) + 1, day: day)
        seconds = days * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
    }

    static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.seconds < right.seconds
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// Days since 1970 in the Gregorian calendar; years are counted from March, so that a leap day is the last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}

extension HTTPDate: CustomStringConvertible {
    var description: String {
        let days = seconds / 86_400
        var year = 1970 + days / 366
        while Self.days(year: year + 1, month: 1, day: 1) <= days { year += 1 }
        var month: Int64 = 1
        while month < 12, Self.days(year: year, month: month + 1, day: 1) <= days { month += 1 }
        let day = days - Self.days(year: year, month: month, day: 1) + 1
        let clock = [seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60].map(Self.twoDigits).joined(separator: ":")
        let date = "\(Self.twoDigits(day)) \(Self.months[Int(month) - 1]) \(year)"
        return "\(Self.weekdays[Int(days % 7)]), \(date) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
