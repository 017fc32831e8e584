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

extension HTTPDate {
    /// Parses a date in any of the three forms that a recipient must accept (RFC 9110, 5.6.7).
    ///
    /// ```text
    /// Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
    /// Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, whose year is relative to `now`
    /// Sun Nov  6 08:49:37 1994          asctime
    /// ```
    ///
    /// The result is `nil` if the day doesn't exist or the text deviates in any other way. The weekday must be the name
    /// of a weekday, but isn't compared with the date. Without `now`, dates in the RFC 850 form are rejected.
    package init?(_ text: String, now: HTTPDate? = nil) {
        var scanner = FieldScanner(text.trimmingFieldWhitespace())
        let weekday = String(scanner.take(while: \.isASCIILetter))
        let instant: HTTPDate? =
            if Self.longWeekdays.contains(weekday) {
                Self.rfc850(&scanner, now: now)
            } else if Self.weekdays.contains(weekday) {
                scanner.take(", ") ? Self.fixdate(&scanner) : Self.asctime(&scanner)
            } else {
                nil
            }
        guard let instant, scanner.isAtEnd else { return nil }
        self = instant
    }

    /// Reads the part of an IMF-fixdate after `Sun, `: `06 Nov 1994 08:49:37 GMT`.
    private static func fixdate(_ scanner: inout FieldScanner) -> HTTPDate? {
        guard let day = scanner.takeNumber(digits: 2), scanner.take(" "),
            let month = scanner.takeMonth(), scanner.take(" "),
            let year = scanner.takeNumber(digits: 4), scanner.take(" "),
            let time = scanner.takeTime(), scanner.take(" GMT"),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        return HTTPDate(date, secondOfDay: time)
    }

    /// Reads the part of an asctime date after `Sun`: ` Nov  6 08:49:37 1994`.
    private static func asctime(_ scanner: inout FieldScanner) -> HTTPDate? {
        guard scanner.take(" "), let month = scanner.takeMonth(), scanner.take(" "),
            let day = scanner.take(" ") ? scanner.takeNumber(digits: 1) : scanner.takeNumber(digits: 2),
            scanner.take(" "), let time = scanner.takeTime(), scanner.take(" "),
            let year = scanner.takeNumber(digits: 4),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        return HTTPDate(date, secondOfDay: time)
    }

    /// Reads the part of an RFC 850 date after `Sunday`: `, 06-Nov-94 08:49:37 GMT`.
    private static func rfc850(_ scanner: inout FieldScanner, now: HTTPDate?) -> HTTPDate? {
        guard let now, scanner.take(", "), let day = scanner.takeNumber(digits: 2), scanner.take("-"),
            let month = scanner.takeMonth(), scanner.take("-"),
            let shortYear = scanner.takeNumber(digits: 2), scanner.take(" "),
            let time = scanner.takeTime(), scanner.take(" GMT")
        else { return nil }
        let today = now.civilDate
        let isLaterInYear = (month, day, time) > (today.month, today.day, now.secondOfDay)
        let latestYear = today.year + (isLaterInYear ? 49 : 50)
        let year = latestYear - (latestYear - shortYear + 100) % 100
        guard let date = CivilDate(year: year, month: month, day: day) else { return nil }
        return HTTPDate(date, secondOfDay: time)
    }

    private init(_ date: CivilDate, secondOfDay: Int) {
        self.init(secondsSinceEpoch: Int64(date.daysSinceEpoch) * Self.secondsPerDay + Int64(secondOfDay))
    }
}

extension FieldScanner {
    /// Reads the case-sensitive name of a month, and returns its number from 1 to 12.
    fileprivate mutating func takeMonth() -> Int? {
        HTTPDate.months.firstIndex(of: String(take(while: \.isASCIILetter))).map { $0 + 1 }
    }

    /// Reads `hour ":" minute ":" second`, and returns the second of the day; 23:59:60 is a leap second.
    fileprivate mutating func takeTime() -> Int? {
        guard let hour = takeNumber(digits: 2), take(":"), let minute = takeNumber(digits: 2), take(":"),
            let second = takeNumber(digits: 2), hour < 24, minute < 60,
            second < 60 || (hour, minute, second) == (23, 59, 60)
        else { return nil }
        return (hour * 60 + minute) * 60 + second
    }
}

/// A day of the proleptic Gregorian calendar that converts to and from a number of days since January 1, 1970.
///
/// The arithmetic uses years that begin in March, so that a leap day is the last day of its year.
struct CivilDate: Sendable, Hashable {
    let year: Int
    let month: Int
    let day: Int

    /// Creates a date; `nil` if the day doesn't exist or the year is outside 0 to 9999.
    init?(year: Int, month: Int, day: Int) {
        guard 0...9999 ~= year, 1...12 ~= month, day >= 1, day <= Self.lastDay(of: month, in: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the date that is the given number of days after January 1, 1970, in the years 0 to 9999.
    init(daysSinceEpoch: Int) {
        let days = daysSinceEpoch + Self.daysToEpoch
        let era = days.dividedRoundingDown(by: Self.daysPerEra)
        let dayOfEra = days - era * Self.daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The number of days since January 1, 1970; negative for earlier dates.
    var daysSinceEpoch: Int {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let era = yearFromMarch.dividedRoundingDown(by: 400)
        let yearOfEra = yearFromMarch - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * Self.daysPerEra + dayOfEra - Self.daysToEpoch
    }

    /// The day of the week, from 0 for Monday to 6 for Sunday.
    var weekday: Int {
        // January 1, 1970, was a Thursday.
        let days = daysSinceEpoch + 3
        return days - days.dividedRoundingDown(by: 7) * 7
    }

    private static let daysPerEra = 146_097

    /// The number of days from March 1 of the year 0 to January 1, 1970.
    private static let daysToEpoch = 719_468

    private static func lastDay(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension FixedWidthInteger {
    /// Returns the quotient rounded toward negative infinity.
    ///
    /// - Parameter divisor: A positive number.
    func dividedRoundingDown(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
