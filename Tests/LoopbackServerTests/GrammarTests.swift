import TestSupport
import Testing

@testable import LoopbackServer

/// Tests of the parsers and formatters of header fields.
@Suite(.endsWhenHung)
struct GrammarTests {
    @Test(
        arguments: [
            ("bytes=0-", .from(0, through: nil)),
            ("bytes=5-9", .from(5, through: 9)),
            ("Bytes=5-5", .from(5, through: 5)),
            ("bytes=-3", .last(3)),
            ("bytes=99999999999999999999-", .from(.max, through: nil)),
            ("bytes=0-99999999999999999999", .from(0, through: .max)),
        ] as [(String, RequestRange)])
    func `a single range is parsed`(field: String, expected: RequestRange) {
        #expect(RequestRange(field) == expected)
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=-", "bytes=9-5", "bytes=0-1,3-4", "items=0-1", "bytes=a-", "bytes=+1-2",
    ])
    func `other units, several ranges, and malformed values are rejected`(field: String) {
        #expect(RequestRange(field) == nil)
    }

    @Test(
        arguments: [
            (.from(0, through: nil), 10, 0..<10),
            (.from(9, through: .max), 10, 9..<10),
            (.from(2, through: 4), 10, 2..<5),
            (.from(10, through: nil), 10, nil),
            (.from(.max, through: nil), 10, nil),
            (.last(3), 10, 7..<10),
            (.last(30), 10, 0..<10),
            (.last(0), 10, nil),
            (.from(0, through: nil), 0, nil),
            (.last(3), 0, 0..<0),
        ] as [(RequestRange, Int64, Range<Int64>?)])
    func `a range is resolved with the length of the representation`(
        range: RequestRange, length: Int64, expected: Range<Int64>?
    ) {
        #expect(range.resolved(length: length) == expected)
    }

    @Test(
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] as [(Int64, String)])
    func `a date is formatted as an IMF-fixdate and parsed again`(seconds: Int64, text: String) {
        #expect(HTTPDate(seconds: seconds).description == text)
        #expect(HTTPDate(text) == HTTPDate(seconds: seconds))
    }

    @Test(arguments: [
        "", "Sunday, 06-Nov-94 08:49:37 GMT", "\"v1\"", "Sun, 06 Nov 9223372036854775807 08:49:37 GMT",
        "Sun, 06 Nov -9223372036854775808 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
        "Sun, 06 Nov +994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 9223372036854775807 Nov 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 9223372036854775807:49:37 GMT",
        "Sun, 06 Nov 1994 08:9223372036854775807:37 GMT", "Sun, 06 Nov 1994 08:49:9223372036854775807 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 -8:49:37 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT", "Sun, 06 Nov 1994 08::49:37 GMT",
        "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    ])
    func `other formats and invalid dates are rejected`(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test(arguments: [
        "Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Wed, 31 Dec 1969 23:59:59 GMT",
    ])
    func `the first and last date of the format, and dates before 1970, survive a round trip`(text: String) {
        #expect(HTTPDate(text)?.description == text)
    }

    @Test func `header names are case-insensitive, and the values of one name are joined`() {
        var fields: HeaderFields = ["Accept": "a", "ACCEPT": "b"]
        #expect(fields["accept"] == "a, b")
        fields["aCCept"] = "c"
        #expect(fields == ["aCCept": "c"])
        fields["Accept"] = nil
        #expect(fields.fields.isEmpty)
    }
}
