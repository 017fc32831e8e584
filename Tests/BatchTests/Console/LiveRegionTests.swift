internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct LiveRegionTests {
    @Test func `a frame replaces the lines of the region`() {
        var region = LiveRegion()
        #expect(region.frame(lines: ["a", "b"], columns: 80) == "a\u{1B}[K\nb\u{1B}[K\n\u{1B}[J")
        #expect(region.frame(lines: ["c"], columns: 80) == "\r\u{1B}[2Ac\u{1B}[K\n\u{1B}[J")
    }

    @Test func `lasting lines are written above the region`() {
        var region = LiveRegion()
        _ = region.frame(lines: ["a"], columns: 80)
        let frame = region.frame(lasting: ["done"], lines: ["a"], columns: 80)
        #expect(frame == "\r\u{1B}[1Adone\u{1B}[K\na\u{1B}[K\n\u{1B}[J")
    }

    @Test func `unchanged lines are not drawn again`() {
        var region = LiveRegion()
        _ = region.frame(lines: ["a"], columns: 80)
        #expect(region.frame(lines: ["a"], columns: 80).isEmpty)
    }

    @Test func `lines that a narrower terminal has wrapped are replaced in all their rows`() {
        var region = LiveRegion()
        _ = region.frame(lines: ["\u{1B}[36m0123456789\u{1B}[0m", "漢字"], columns: 80)
        #expect(region.frame(lines: ["x"], columns: 4).hasPrefix("\r\u{1B}[4A"))
    }
}
