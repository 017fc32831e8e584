/// An instant as HTTP tells it, in whole seconds (RFC 9110, 5.6.7).
///
/// Always within the years 0 to 9999, all that the format can hold, so that differences never overflow.
package struct HTTPDate: Sendable, Hashable {
    /// The seconds since 1 January 1970, 00:00:00 GMT, leap seconds not counted.
    package let secondsSinceEpoch: Int64

    /// Makes an instant; one outside the years 0 to 9999 becomes the nearest inside.
    package init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = min(max(secondsSinceEpoch, -62_167_219_200), 253_402_300_799)
    }

    /// The preferred form: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var headerValue: String {
        let date = civilDate
        let (minutes, second) = secondOfDay.quotientAndRemainder(dividingBy: 60)
        let day = "\(padded(date.day, to: 2)) \(Self.months[date.month - 1]) \(padded(date.year, to: 4))"
        let time = "\(padded(minutes / 60, to: 2)):\(padded(minutes % 60, to: 2)):\(padded(second, to: 2))"
        return "\(Self.weekdays[date.weekday]), \(day) \(time) GMT"
    }

    /// The seconds from the other instant to this one; negative when this one is earlier.
    package func seconds(since other: HTTPDate) -> Int64 {
        secondsSinceEpoch - other.secondsSinceEpoch
    }

    var civilDate: CivilDate {
        CivilDate(daysSinceEpoch: Int(secondsSinceEpoch.dividedRoundingDown(by: Self.secondsPerDay)))
    }

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
