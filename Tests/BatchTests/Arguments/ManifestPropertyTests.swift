internal import AsyncDownloads
internal import TestSupport
internal import Testing

/// A short run of the manifest property that a fuzzer checks for hours.
@Suite(.endsWhenHung) struct ManifestPropertyTests {
    private static let pieces = [
        "http://a/x", "https://b", "\n", "\r\n", " ", "\t", " out=", "out", "=", "..", ".", "/", "\u{301}", "#",
        "\u{FEFF}",
        " checksum=sha-256=", String(repeating: "0", count: 64), " header=A: b", ":", "\0", "\u{7F}", "name", "é",
        "%0a", " dir=", " mirror=", "{", "}", "\"url\":", "\"http://a/y\"",
    ]

    @Test func `every accepted manifest contains only valid downloads within the directory`() {
        var generator = SplitMix64(seed: 5)
        for _ in 0..<3000 {
            var text = "http://a/x\n"
            for _ in 0..<Int.random(in: 0...30, using: &generator) {
                text += Self.pieces.randomElement(using: &generator) ?? ""
            }
            #expect(throws: Never.self, "\(text.debugDescription)") { try ManifestProperty.check(Array(text.utf8)) }
        }
    }
}
