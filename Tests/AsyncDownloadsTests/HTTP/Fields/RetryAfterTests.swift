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

    @Test func `rule 37: a time that has passed counts as none`() {
        func delay(_ headers: HeaderFields) -> Duration? {
            RetryAfter.delay(ResponseHead(status: StatusCode(429), headers: headers), now: Self.now)
        }
        #expect(delay(["Retry-After": "0"]) == nil)
        #expect(delay(["Retry-After": "7"]) == .seconds(7))
        #expect(delay(["Retry-After": "Fri, 31 Dec 1993 23:59:59 GMT"]) == nil)
        #expect(delay(["Retry-After": "Sun, 06 Nov 1994 08:50:00 GMT"]) == .seconds(23))
        #expect(delay([:]) == nil)
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
        func value(_ headers: HeaderFields) -> RetryAfter? {
            RetryAfter(ResponseHead(status: StatusCode(503), headers: headers))
        }
        #expect(value(["retry-after": "5", "Retry-After": "6"]) == .seconds(5))
        #expect(value(["Date": "5"]) == nil)
        #expect(value(["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"]) == .date(Self.now))
        #expect(value(["Retry-After": "Sunday, 06-Nov-94 08:49:37 GMT"]) == nil)
    }

    @Test(
        arguments: [
            (["RateLimit": #""resolvers";r=0;t=87"#], 87),
            (["RateLimit": #""a"; r=0; t=5 , "b;\"";r=0;t=7,c;r=3;t=99"#], 7),
            (["RateLimit": #""a";r=0"#, "RateLimit-Policy": #""b";q=9;w=1, "a";q=100;w=60"#], 60),
            (["RateLimit": #""a";r=0;t=5"#, "Retry-After": "9"], 9),
            (["RateLimit": #""a";r=0;t=5"#, "Retry-After": "soon"], 5),
            (["RateLimit": #""a";r=1;t=5"#], nil), (["RateLimit": #""a";r=0;t=-5"#], nil),
            (["RateLimit": #""a";t=5"#], nil),
            (["RateLimit": #""a";r=0;t=5"#, "X-RateLimit-Reset": "9"], 5), (["RateLimit": "\"a;r=0;t=5"], nil),
            (["RateLimit": #""a";;r=0;t=5"#], nil), (["RateLimit": #""a" x;r=0;t=5"#], nil), (["RateLimit": ""], nil),
            (["RateLimit": #""a";r=0;t=99999999999999999999"#], nil), (["RateLimit": #""a";x;r=0;y="1;t=2";t=5"#], 5),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"], 30), (["X-RateLimit-Reset": "30"], 30),
            (["X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "30"], nil),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000001"], 215_888_224),
            (["X-RateLimit-Reset": "1000000000"], 1_000_000_000),
            (["X-RateLimit-Reset": "784111779500"], 2), (["X-RateLimit-Reset": "-1"], nil),
            (["X-RateLimit-Reset": "1.5"], nil), (["RateLimit-Remaining": "0", "RateLimit-Reset": "8"], 8),
        ] as [(HeaderFields, Int64?)])
    func `rule 37: a refusal without Retry-After may have rate limit fields`(_ headers: HeaderFields, _ seconds: Int64?)
    {
        let refusal = ResponseHead(status: StatusCode(429), headers: headers)
        #expect(RetryAfter(refusal, now: Self.now)?.delay(now: Self.now) == seconds.map { .seconds($0) })
    }

    @Test func `the older rate limit fields are read only if the server asks for fewer requests`() {
        for status in [429, 503, 500, 403, 200] {
            let older = ResponseHead(status: StatusCode(status), headers: ["X-RateLimit-Reset": "30"])
            #expect((RetryAfter(older) != nil) == [429, 503].contains(status))
            let structured = ResponseHead(status: StatusCode(status), headers: ["RateLimit": #""a";r=0;t=30"#])
            #expect(RetryAfter(structured) == .seconds(30))
        }
    }
}
