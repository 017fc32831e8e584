internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct PartWatchTests {
    /// Returns the state after parts of 3,000 bytes at these times, each of which arrives within two milliseconds.
    private func watch(partsAt times: [Int]) -> PartWatch {
        var watch = PartWatch()
        for time in times {
            for delay in 0...2 {
                let now = Duration.milliseconds(time + delay)
                watch.arrived(1000, at: now)
            }
        }
        return watch
    }

    @Test func `two parts show the interval and the rate`() {
        #expect(watch(partsAt: [100]).parts == nil)
        #expect(watch(partsAt: [100, 300]).parts == BodyParts(interval: .milliseconds(200), rate: 15_000))
    }

    @Test func `small deviations are ignored`() {
        #expect(watch(partsAt: [100, 300, 520, 700]).parts?.interval == .milliseconds(200))
    }

    @Test func `a steady flow has no parts`() {
        #expect(watch(partsAt: Array(stride(from: 0, to: 1000, by: 20))).parts == nil)
    }

    @Test func `parts with different intervals are no parts`() {
        #expect(watch(partsAt: [0, 200, 300]).parts == nil)
        // Another interval may be the regular one, but not a third.
        #expect(watch(partsAt: [0, 200, 300, 400]).parts?.interval == .milliseconds(100))
        #expect(watch(partsAt: [0, 200, 300, 400, 900, 1400, 1900]).parts == nil)
    }

    @Test func `the last part is the one before the present part`() {
        var watch = PartWatch()
        for (time, count) in [(0, 2000), (400, 2000), (800, 1000), (1000, 2000)] {
            watch.arrived(count, at: .milliseconds(time))
            let last = watch.lastPart(at: .milliseconds(time))
            #expect(last?.part.rate == (time == 0 ? nil : 5000) && last?.end == (time == 0 ? nil : .milliseconds(time)))
        }
        // The server sends nothing for longer than its limit requires.
        #expect(watch.lastPart(at: .milliseconds(1500)) != nil && watch.lastPart(at: .milliseconds(1501)) == nil)
    }

    @Test func `bytes before a short gap are no part`() {
        var watch = PartWatch()
        for time in stride(from: 0, through: 100, by: 20) { watch.arrived(1000, at: .milliseconds(time)) }
        watch.arrived(1000, at: .milliseconds(150))
        #expect(watch.lastPart(at: .milliseconds(150)) == nil)
    }

    @Test func `a long pause is no interval`() {
        #expect(watch(partsAt: [0, 5000, 5200]).parts?.interval == .milliseconds(200))
        #expect(watch(partsAt: [0, 100, 200, 5000]).parts == nil)
    }

    @Test func `a single pause in a steady flow separates no parts`() {
        let steady = Array(stride(from: 1000, to: 2000, by: 20))
        #expect(watch(partsAt: [0] + steady.prefix(50)).parts?.interval == .milliseconds(1000))
        #expect(watch(partsAt: [0, 200] + Array(stride(from: 220, to: 520, by: 20))).parts == nil)
    }
}
