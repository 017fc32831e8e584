import TestSupport
import Testing

@testable import AsyncDownloads

@Suite("Strings of bytes and code units that may be invalid", .endsWhenHung)
struct WellFormedStringTests {
    @Test(
        "well-formed UTF-8 is kept as it is",
        arguments: [
            ("", []), ("a", [0x61]), ("é", [0xC3, 0xA9]), ("\u{FFFD}", [0xEF, 0xBF, 0xBD]),
            ("\u{FEFF}a", [0xEF, 0xBB, 0xBF, 0x61]), ("\u{0}", [0]), ("e\u{301}", [0x65, 0xCC, 0x81]),
            ("\u{10FFFF}", [0xF4, 0x8F, 0xBF, 0xBF]),
        ] as [(String, [UInt8])])
    func wellFormedUTF8IsKept(text: String, bytes: [UInt8]) {
        // By scalars, since strings are equal if they are canonically equivalent.
        #expect(String(wellFormedUTF8: bytes).map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
    }

    @Test(
        "malformed UTF-8 is refused",
        arguments: [
            [0x80], [0xC3], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF], [0x61, 0xE2, 0x82],
            [0xEF, 0xBF, 0xBD, 0xFF],
        ] as [[UInt8]])
    func malformedUTF8IsRefused(bytes: [UInt8]) {
        #expect(String(wellFormedUTF8: bytes) == nil)
    }

    @Test(
        "well-formed UTF-16 is kept as it is",
        arguments: [("", []), ("é", [0xE9]), ("\u{FFFD}", [0xFFFD]), ("😀", [0xD83D, 0xDE00])] as [(String, [UInt16])])
    func wellFormedUTF16IsKept(text: String, codeUnits: [UInt16]) {
        #expect(String(wellFormedUTF16: codeUnits).map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
    }

    @Test(
        "a surrogate without its pair is refused",
        arguments: [[0xD83D], [0xDE00], [0xDE00, 0xD83D], [0x61, 0xD83D, 0x61]] as [[UInt16]])
    func unpairedSurrogatesAreRefused(codeUnits: [UInt16]) {
        #expect(String(wellFormedUTF16: codeUnits) == nil)
    }
}
