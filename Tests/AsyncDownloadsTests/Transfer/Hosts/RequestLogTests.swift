internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct RequestLogTests {
    @Test func `a pace permits its number of requests in any period`() {
        let pace = RequestPace(count: 3, period: .seconds(10))
        var log = RequestLog(capacity: 4)
        var sent: [Duration] = []
        var now = Duration.zero
        for step in 0..<50 {
            now = max(now + .seconds(step % 4), log.nextTime(pace) ?? .zero)
            log.add(now)
            sent.append(now)
        }
        for (index, time) in sent.enumerated() where index >= 3 {
            #expect(time - sent[index - 3] >= .seconds(10))
        }
    }

    @Test func `the first requests of a pace follow each other directly`() {
        let pace = RequestPace(count: 2, period: .seconds(1))
        var log = RequestLog(capacity: 2)
        for _ in 0..<2 {
            #expect(log.nextTime(pace) == nil)
            log.add(.seconds(5))
        }
        #expect(log.nextTime(pace) == .seconds(6))
    }

    @Test func `requests are spaced evenly, but for a burst after a time without any`() {
        let pace = RequestPace(count: 10, period: .seconds(1), burst: 3)
        var spacing = RequestSpacing()
        var sent: [Duration] = []
        for start in [Duration.seconds(5), .seconds(9)] {
            var now = start
            for _ in 0..<5 {
                now = max(now, spacing.nextTime(pace))
                spacing.add(now, pace)
                sent.append(now - start)
            }
        }
        let expected = [0, 0, 0, 100, 200].map { Duration.milliseconds($0) }
        #expect(sent == expected + expected)
    }

    @Test(arguments: [(0, 0, 1, 1), (-5, -1, 1, 1), (2_000_000, 2_000_000_000, 1_000_000, 86_400_000)])
    func `values out of range are replaced`(count: Int, milliseconds: Int, validCount: Int, validMilliseconds: Int) {
        let pace = RequestPace(count: count, period: .milliseconds(milliseconds))
        #expect(pace.count == validCount)
        #expect(pace.period == .milliseconds(validMilliseconds))
    }
}
