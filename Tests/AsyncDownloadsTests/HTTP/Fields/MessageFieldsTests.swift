import AsyncDownloads
import TestSupport
import Testing

@Suite("Content-Length and Content-Encoding", .endsWhenHung)
struct MessageFieldsTests {
    private static let lengths: [(HeaderFields, ContentLength)] = [
        ([:], .absent),
        (["Content-Length": "0"], .value(0)),
        (["content-length": "3495"], .value(3495)),
        (["Content-Length": " 42\t"], .value(42)),
        (["Content-Length": "0042"], .value(42)),
        (["Content-Length": "42, 42"], .value(42)),
        (["Content-Length": "42", "content-length": "42"], .value(42)),
        (["Content-Length": "42,42", "content-length": "42 , 42"], .value(42)),
        (["Content-Length": "4294967296"], .value(4_294_967_296)),
        (["Content-Length": "4611686018427387904"], .value(1 << 62)),
    ]

    /// RFC 9110, 8.6.
    @Test(arguments: lengths)
    func `a declared length is parsed, and identical repetitions count once`(
        _ headers: HeaderFields, _ expected: ContentLength
    ) {
        #expect(ContentLength(headers) == expected)
    }

    @Test(arguments: [
        "", " ", ",", "42,", ",42", "42,,42", "42, 43", "-1", "+1", "1.0", "1e3", "0x2A", "42 bytes", "4 2", "٤٢",
        "42;", "\"42\"", "42\0", "4611686018427387905", "9223372036854775807", "9223372036854775808",
        "18446744073709551658",
        "99999999999999999999999999999999", "99999999999999999999, 99999999999999999999",
    ])
    func `rule 13: a length that is not a single valid number is invalid`(_ value: String) {
        #expect(ContentLength(["Content-Length": value]) == .invalid)
    }

    @Test func `length fields with different values are invalid`() {
        #expect(ContentLength(["Content-Length": "42", "content-length": "43"]) == .invalid)
        #expect(ContentLength(["Content-Length": "42", "content-length": ""]) == .invalid)
    }

    private static let codings: [(HeaderFields, String?)] = [
        ([:], nil),
        (["Content-Encoding": ""], nil),
        (["Content-Encoding": "identity"], nil),
        (["Content-Encoding": "Identity, IDENTITY"], nil),
        (["content-encoding": "gzip"], "gzip"),
        (["Content-Encoding": "GZIP"], "gzip"),
        (["Content-Encoding": "x-gzip"], "gzip"),
        (["Content-Encoding": "x-compress"], "compress"),
        (["Content-Encoding": "deflate,identity , br"], "deflate, br"),
        (["Content-Encoding": "gzip", "content-encoding": "br"], "gzip, br"),
        (["Content-Encoding": "gzip;q=1"], "gzip;q=1"),
        (["Content-Encoding": "garbage in"], "garbage in"),
    ]

    /// RFC 9110, 8.4.
    @Test(arguments: codings)
    func `rule 28: every coding other than identity is recognized, even an unknown one`(
        _ headers: HeaderFields, _ expected: String?
    ) {
        #expect(ContentCoding(headers)?.description == expected)
    }
}
