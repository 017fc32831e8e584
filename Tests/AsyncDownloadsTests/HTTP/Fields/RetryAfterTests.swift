import AsyncDownloads
import TestSupport
import Testing

@Suite("Retry-After (RFC 9110, 10.2.3)", .endsWhenHung)
struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT.
    private static let now = HTTPDate(secondsSinceEpoch: 784_111_777)

    @Test(arguments: [
        ("120", Duration.seconds(120)),
        ("0", .zero),
        (" 5 ", .seconds(5)),
        ("007", .seconds(7)),
        ("Sun, 06 Nov 1994 08:50:00 GMT", .seconds(23)),
        ("Sunday, 06-Nov-94 08:50:00 GMT", .seconds(23)),
        ("Sun Nov  6 08:50:00 1994", .seconds(23)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", .zero),
        ("Fri, 31 Dec 1993 23:59:59 GMT", .zero),
        ("Sat, 01 Jan 0000 00:00:00 GMT", .zero),
    ])
    func `rule 37: a number of seconds and a date both give the delay`(_ text: String, _ delay: Duration) {
        #expect(RetryAfter(text, now: Self.now)?.delay(now: Self.now) == delay)
    }

    @Test(arguments: [
        "2147483648", "2147483649", "9223372036854775807", "9223372036854775808", "99999999999999999999999999999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ])
    func `rule 13: a delay above 2^31 seconds is reduced to that number`(_ text: String) {
        #expect(RetryAfter(text, now: Self.now)?.delay(now: Self.now) == .seconds(2_147_483_648))
    }

    @Test func `a value that was not parsed has the same limits`() {
        #expect(RetryAfter.seconds(.min).delay(now: Self.now) == .zero)
        #expect(RetryAfter.seconds(.max).delay(now: Self.now) == .seconds(2_147_483_648))
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.5", "1e3", "0x10", "5s", "5 seconds", "1 2", "5, 5", "soon", "٥", "1994-11-06",
        "Sun, 06 Nov 1994 08:50:00", "5\0",
    ])
    func `any other text is rejected`(_ text: String) {
        #expect(RetryAfter(text, now: Self.now) == nil)
    }

    @Test func `only the first Retry-After field is read`() {
        #expect(RetryAfter(["retry-after": "5", "Retry-After": "6"]) == .seconds(5))
        #expect(RetryAfter(["Date": "5"]) == nil)
        #expect(RetryAfter(["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"]) == .date(Self.now))
        #expect(RetryAfter(["Retry-After": "Sunday, 06-Nov-94 08:49:37 GMT"]) == nil)
    }
}
