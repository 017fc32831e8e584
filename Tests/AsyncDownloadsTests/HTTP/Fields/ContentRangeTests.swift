import AsyncDownloads
import TestSupport
import Testing

@Suite("Content-Range (RFC 9110, 14.4)", .endsWhenHung)
struct ContentRangeTests {
    private static let valid: [(String, ContentRange)] = [
        ("bytes 42-1233/1234", .satisfied(42...1233, completeLength: 1234)),
        ("bytes 42-1233/*", .satisfied(42...1233, completeLength: nil)),
        ("bytes */1234", .unsatisfied(completeLength: 1234)),
        ("bytes 0-499/1234", .satisfied(0...499, completeLength: 1234)),
        ("bytes 734-1233/1234", .satisfied(734...1233, completeLength: 1234)),
        ("bytes 0-0/1", .satisfied(0...0, completeLength: 1)),
        ("bytes */0", .unsatisfied(completeLength: 0)),
        ("BYTES 0-1/2", .satisfied(0...1, completeLength: 2)),
        ("Bytes 0-1/2", .satisfied(0...1, completeLength: 2)),
        (" bytes 0-1/2\t", .satisfied(0...1, completeLength: 2)),
        ("bytes   0-1/2", .satisfied(0...1, completeLength: 2)),
        ("bytes 007-008/009", .satisfied(7...8, completeLength: 9)),
        ("bytes 4294967296-4294967297/*", .satisfied(4_294_967_296...4_294_967_297, completeLength: nil)),
        (
            "bytes 0-4611686018427387903/4611686018427387904",
            .satisfied(0...4_611_686_018_427_387_903, completeLength: 4_611_686_018_427_387_904)
        ),
    ]

    @Test(arguments: valid)
    func `a well-formed value is parsed`(_ text: String, _ expected: ContentRange) {
        #expect(ContentRange(text) == expected)
    }

    @Test(arguments: [
        "", " ", "bytes", "bytes ", "bytes *", "bytes */", "bytes */*", "bytes 0-", "bytes 0-4", "bytes 0-4/",
        "bytes -4/5", "bytes 0/5", "bytes=0-4/5", "bytes: 0-4/5", "bytes0-4/5", "0-4/5", "bytes 0 - 4/5",
        "bytes 0-4 / 5", "bytes +0-4/5", "bytes -1-4/5", "bytes 0--4/5", "bytes 0x0-4/5", "bytes 0-4/5 x",
        "bytes 0-4/5;", "bytes a-b/c", "bytes 0-4/5\0", "bytes\r\n0-4/5",
        "bytes ٠-٤/٥", "bytes 0-4/**", "bytes *-4/5",
        "bytes 0.0-4/5", "bytes 1e1-20/30", "\u{FEFF}bytes 0-4/5", "bytes\u{A0}0-4/5", "bytes **/5",
    ])
    func `rule 14: a value that does not follow the grammar is rejected`(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test(arguments: ["bytes 5-4/10", "bytes 5-4/*", "bytes 0-10/10", "bytes 0-10/5", "bytes 0-0/0"])
    func `rule 16: a last position before the first, or a length within the range, is rejected`(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test(arguments: [
        "items 0-4/5", "byte 0-4/5", "bytess 0-4/5", "none */5", "exampleunit 1.2-4.3/25", "byte\u{17F} 0-4/5",
    ])
    func `rule 17: a unit other than bytes is rejected`(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test(arguments: [
        "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*", "bytes 0-4/9223372036854775808",
        "bytes 0-4/18446744073709551621", "bytes 18446744073709551616-18446744073709551620/*",
        "bytes */9223372036854775807", "bytes */99999999999999999999999999999999999999",
        "bytes 4611686018427387905-4611686018427387906/*",
    ])
    func `rule 13: a huge or overflowing number is rejected`(_ text: String) {
        #expect(ContentRange(text) == nil)
    }

    @Test func `a field with identical repetitions is read, and one with different values is rejected`() {
        #expect(ContentRange(["content-range": "bytes */5"]) == .unsatisfied(completeLength: 5))
        #expect(ContentRange(["Range": "bytes=0-4"]) == nil)
        #expect(ContentRange("bytes 0-4/5, bytes 0-4/5") == nil)
        #expect(ContentRange(["Content-Range": "bytes 0-4/9", "content-range": "bytes 5-8/9"]) == nil)
        #expect(
            ContentRange(["Content-Range": "bytes 0-4/9", "content-range": "bytes 0-4/9"])
                == .satisfied(0...4, completeLength: 9))
    }
}
