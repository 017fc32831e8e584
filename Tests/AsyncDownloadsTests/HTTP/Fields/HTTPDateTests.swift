import AsyncDownloads
import TestSupport
import Testing

@Suite("HTTP date (RFC 9110, 5.6.7)", .endsWhenHung)
struct HTTPDateTests {
    /// 2026-10-05, 12:00:00.
    private static let now = HTTPDate(secondsSinceEpoch: 1_791_201_600)

    private static let valid: [(String, Int64)] = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Wed Nov 16 08:49:37 1994", 784_975_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Mon, 05 Oct 2026 12:00:00 GMT", 1_791_201_600),
        ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
        ("Sun, 07 Feb 2106 06:28:16 GMT", 4_294_967_296),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
        ("Thu Feb 29 00:00:00 2024", 1_709_164_800),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        ("Sat, 29 Feb 0000 00:00:00 GMT", -62_162_121_600),
        ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Friday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("  Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777),
    ]

    @Test(arguments: valid)
    func `all three forms are parsed, whatever the weekday`(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(text, now: Self.now)?.secondsSinceEpoch == seconds)
    }

    @Test(arguments: [
        "", "0", "-1", "784111777", "Sun", "Sun,", "Sun, ", "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 006 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 01994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37 gmt", "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "sun, 06 Nov 1994 08:49:37 GMT", "SUN, 06 Nov 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 November 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994  08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 32 Dec 1994 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 29 Feb 2100 08:49:37 GMT",
        "Sun, 30 Feb 2024 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT", "Sun, 06 Nov 1994 23:59:61 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
        "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 6-Nov-94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 29-Feb-23 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov 06 08:49:37 94",
        "Sun Nov  06 08:49:37 1994", "Sun Nov  0 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT",
        "Sunday Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, ٠٦ Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT\0", "1994-11-06T08:49:37Z",
    ])
    func `any other text is rejected`(_ text: String) {
        #expect(HTTPDate(text, now: Self.now) == nil)
    }

    @Test(arguments: [
        ("Monday, 05-Oct-26 12:00:00 GMT", "Mon, 05 Oct 2026 12:00:00 GMT"),
        ("Friday, 01-Jan-99 00:00:00 GMT", "Fri, 01 Jan 1999 00:00:00 GMT"),
        ("Saturday, 01-Jan-00 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"),
        ("Monday, 05-Oct-76 12:00:00 GMT", "Mon, 05 Oct 2076 12:00:00 GMT"),
        ("Tuesday, 05-Oct-76 12:00:01 GMT", "Tue, 05 Oct 1976 12:00:01 GMT"),
        ("Friday, 31-Dec-76 00:00:00 GMT", "Fri, 31 Dec 1976 00:00:00 GMT"),
        ("Saturday, 01-Jan-77 00:00:00 GMT", "Sat, 01 Jan 1977 00:00:00 GMT"),
        ("Tuesday, 29-Feb-00 00:00:00 GMT", "Tue, 29 Feb 2000 00:00:00 GMT"),
    ])
    func `a two-digit year is at most fifty years in the future, to the second`(_ text: String, _ expected: String) {
        #expect(HTTPDate(text, now: Self.now)?.headerValue == expected)
    }

    @Test func `the range of two-digit years moves with the current date, up to the ends of the calendar`() {
        let text = "Sunday, 06-Nov-94 08:49:37 GMT"
        #expect(HTTPDate(text) == nil)
        #expect(HTTPDate(text, now: HTTPDate(secondsSinceEpoch: 0))?.headerValue == "Sun, 06 Nov 1994 08:49:37 GMT")
        let later = HTTPDate("Wed, 01 Jan 2070 00:00:00 GMT")
        #expect(HTTPDate(text, now: later)?.headerValue == "Sat, 06 Nov 2094 08:49:37 GMT")
        #expect(HTTPDate(text, now: HTTPDate(secondsSinceEpoch: .min)) == nil)
        #expect(HTTPDate(text, now: HTTPDate(secondsSinceEpoch: .max))?.headerValue == "Sun, 06 Nov 9994 08:49:37 GMT")
        #expect(HTTPDate("Sunday, 06-Nov-40 08:49:37 GMT", now: HTTPDate(secondsSinceEpoch: .max)) == nil)
    }

    @Test func `rule 13: an instant outside the format is clamped, and differences do not overflow`() {
        let first = HTTPDate(secondsSinceEpoch: .min)
        let last = HTTPDate(secondsSinceEpoch: .max)
        #expect(first.headerValue == "Sat, 01 Jan 0000 00:00:00 GMT")
        #expect(last.headerValue == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(last.seconds(since: first) == 315_569_519_999)
        #expect(first < last)
    }

    @Test func `days of four centuries are written with the right weekday, and read back`() {
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        for day in stride(from: Int64(0), to: 146_097, by: 5) {
            let date = HTTPDate(secondsSinceEpoch: day * 86_400 + day % 86_400)
            let text = date.headerValue
            guard text.hasPrefix(weekdays[Int(day % 7)]), HTTPDate(text) == date else {
                Issue.record("\(day): \(text)")
                return
            }
        }
    }

    @Test func `random instants in ten thousand years are written and read back`() {
        var generator = SplitMix64(seed: 5)
        for _ in 0..<10_000 {
            let date = HTTPDate(secondsSinceEpoch: .random(in: -62_167_219_200...253_402_300_799, using: &generator))
            #expect(HTTPDate(date.headerValue) == date)
        }
    }
}
