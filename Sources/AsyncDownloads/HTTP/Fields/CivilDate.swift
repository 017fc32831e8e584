/// A day of the proleptic Gregorian calendar, and its distance from 1 January 1970.
///
/// The arithmetic counts years from March, so that the leap day is a year's last day.
struct CivilDate: Sendable, Hashable {
    let year: Int
    let month: Int
    let day: Int

    /// Fails for a day that does not exist, and for years that four digits cannot hold.
    init?(year: Int, month: Int, day: Int) {
        guard 0...9999 ~= year, 1...12 ~= month, day >= 1, day <= Self.lastDay(of: month, in: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day this many days after 1 January 1970; for days of the years 0 to 9999.
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

    var daysSinceEpoch: Int {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let era = yearFromMarch.dividedRoundingDown(by: 400)
        let yearOfEra = yearFromMarch - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * Self.daysPerEra + dayOfEra - Self.daysToEpoch
    }

    /// The day of the week, counted from 0 for Monday; 1 January 1970 was a Thursday.
    var weekday: Int {
        let days = daysSinceEpoch + 3
        return days - days.dividedRoundingDown(by: 7) * 7
    }

    private static let daysPerEra = 146_097

    /// The days from 1 March of the year 0 to 1 January 1970.
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
    /// The quotient rounded towards minus infinity; the divisor is positive.
    func dividedRoundingDown(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
