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
