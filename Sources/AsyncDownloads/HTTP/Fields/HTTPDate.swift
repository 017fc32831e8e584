/// An instant in whole seconds, as HTTP represents it (RFC 9110, 5.6.7).
///
/// The instant is always in the years 0 to 9999, the range of the format, so differences never overflow.
package struct HTTPDate: Sendable, Hashable {
    /// The number of seconds since January 1, 1970, 00:00:00 GMT, without leap seconds.
    package let secondsSinceEpoch: Int64

    /// Creates an instant; a value outside the years 0 to 9999 is clamped to that range.
    package init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = min(max(secondsSinceEpoch, -62_167_219_200), 253_402_300_799)
    }

    /// The instant in the preferred form, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var headerValue: String {
        let date = civilDate
        let (minutes, second) = secondOfDay.quotientAndRemainder(dividingBy: 60)
        let day = "\(padded(date.day, to: 2)) \(Self.months[date.month - 1]) \(padded(date.year, to: 4))"
        let time = "\(padded(minutes / 60, to: 2)):\(padded(minutes % 60, to: 2)):\(padded(second, to: 2))"
        return "\(Self.weekdays[date.weekday]), \(day) \(time) GMT"
    }

    /// Returns the number of seconds from the other instant to this one; negative if this one is earlier.
    package func seconds(since other: HTTPDate) -> Int64 {
        secondsSinceEpoch - other.secondsSinceEpoch
    }

    /// The day of the instant in GMT.
    var civilDate: CivilDate {
        CivilDate(daysSinceEpoch: Int(secondsSinceEpoch.dividedRoundingDown(by: Self.secondsPerDay)))
    }

    /// The number of seconds from the beginning of the day in GMT to the instant.
    var secondOfDay: Int {
        Int(secondsSinceEpoch - Int64(civilDate.daysSinceEpoch) * Self.secondsPerDay)
    }

    static let secondsPerDay: Int64 = 86_400
    static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    static let longWeekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: width - digits.count) + digits
    }
}

extension HTTPDate: Comparable {
    package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }
}
