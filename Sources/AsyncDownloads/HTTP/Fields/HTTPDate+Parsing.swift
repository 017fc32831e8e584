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
