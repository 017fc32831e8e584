import AsyncDownloads
import TestSupport
import Testing

@Suite("Byte range", .endsWhenHung)
struct ByteRangeTests {
    private static let valid: [(first: Int64, last: Int64?, headerValue: String, length: Int64?)] = [
        (0, nil, "bytes=0-", nil),
        (5, nil, "bytes=5-", nil),
        (5, 9, "bytes=5-9", 5),
        (0, 0, "bytes=0-0", 1),
        (9500, 9999, "bytes=9500-9999", 500),
        (4_294_967_296, 4_294_967_299, "bytes=4294967296-4294967299", 4),
        (0, 1 << 62, "bytes=0-4611686018427387904", (1 << 62) + 1),
        (1 << 62, nil, "bytes=4611686018427387904-", nil),
    ]

    @Test(arguments: valid)
    func `rule 7: a range is written as a single range of bytes`(
        _ first: Int64, _ last: Int64?, _ headerValue: String, _ length: Int64?
    ) throws {
        let range = try #require(ByteRange(first: first, last: last))
        #expect(range.headerValue == headerValue)
        #expect(range.length == length)
    }

    private static let invalid: [(Int64, Int64?)] = [
        (-1, nil), (-1, 5), (.min, nil), (5, 4), (0, -1), (.max, nil), (0, .max), ((1 << 62) + 1, nil),
        (0, (1 << 62) + 1), (.min, .max),
    ]

    @Test(arguments: invalid)
    func `rule 13: a negative, reversed, or huge range is rejected`(_ first: Int64, _ last: Int64?) {
        #expect(ByteRange(first: first, last: last) == nil)
    }
}
