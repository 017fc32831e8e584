internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct UnitTests {
    private static let amounts: [(Int64, String)] = [
        (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (102_348, "99.9 KiB"),
        (102_349, "100 KiB"), (1_048_063, "1023 KiB"), (1_048_064, "1.0 MiB"), (1 << 40, "1.0 TiB"),
        (.max, "8.0 EiB"), (-5, "0 B"),
    ]

    @Test(arguments: amounts)
    func `a number of bytes has a unit and at most nine columns`(count: Int64, text: String) {
        #expect(Units.bytes(count) == text)
        #expect(text.count <= 9)
    }

    private static let speeds: [(Double?, String)] = [
        (nil, ""), (.nan, ""), (.infinity, ""), (0.5, ""), (1, "1 B/s"), (1_048_576, "1.0 MiB/s"),
        (1e300, "888 PiB/s"),
    ]

    @Test(arguments: speeds)
    func `a speed is shown only if it is known and at least one byte per second`(speed: Double?, text: String) {
        #expect(Units.speed(speed) == text)
    }

    private static let clocks: [(Int64, String)] = [
        (-1, "0:00"), (0, "0:00"), (5, "0:05"), (65, "1:05"), (3599, "59:59"), (3723, "1:02:03"),
        (359_999, "99:59:59"), (360_000, "4d 04h"), (86_400_000, "> 1000 d"), (.max, "> 1000 d"),
    ]

    @Test(arguments: clocks)
    func `a clock has at most eight columns`(seconds: Int64, text: String) {
        #expect(Units.clock(.seconds(seconds)) == text)
        #expect(text.count <= 8)
    }

    @Test(arguments: [(0, "0.0 s"), (1234, "1.2 s"), (59_949, "59.9 s"), (60_000, "1:00")])
    func `a duration of less than a minute has one decimal place`(milliseconds: Int, text: String) {
        #expect(Units.seconds(.milliseconds(milliseconds)) == text)
    }

    @Test(arguments: [
        ("", 0), ("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("한글", 4), ("👍", 2), ("ﾊﾝ", 2), ("Ａ", 2), ("é", 1), ("👩‍👩‍👧", 2),
        ("❤", 1), ("\u{200B}", 0),
    ])
    func `the number of columns of a text is its width on a terminal`(text: String, columns: Int) {
        #expect(text.columns == columns)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("漢字漢", 5, "漢字…"), ("漢字漢", 4, "漢…"),
        ("ab", 1, "…"), ("ab", 0, ""),
    ])
    func `a text is truncated between characters`(text: String, limit: Int, result: String) {
        #expect(text.truncated(to: limit) == result)
        #expect(result.columns <= limit)
    }
}
