internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The rates of connections, and the replacement of slow ones.
@Suite(.endsWhenHung)
struct ConnectionRateTests {
    @Test func `a window counts only the time in which bytes could arrive`() {
        var rate = ConnectionRate()
        rate.check(position: 0, callbackTime: .zero, at: .zero)
        rate.check(position: 150, callbackTime: .seconds(10), at: .seconds(20))
        #expect(rate.highest(of: 1) == nil)
        rate.check(position: 150, callbackTime: .seconds(10), at: .seconds(25))
        #expect(rate.highest(of: 1) == 10)
        rate.check(position: 165, callbackTime: .seconds(10), at: .seconds(40))
        #expect(rate.highest(of: 1) == 1)
        #expect(rate.highest(of: 2) == 10)
        #expect(rate.highest(of: 3) == nil)
    }

    @Test func `a connection that was held back starts its window again`() {
        var rate = ConnectionRate()
        rate.check(position: 0, callbackTime: .zero, at: .zero)
        rate.heldBack()
        rate.check(position: 10, callbackTime: .zero, at: .seconds(14))
        rate.check(position: 10, callbackTime: .zero, at: .seconds(28))
        #expect(rate.highest(of: 1) == nil)
        rate.check(position: 40, callbackTime: .zero, at: .seconds(29))
        #expect(rate.highest(of: 1) == 2)
    }

    @Test func `replacements without a gain become rare`() {
        var patience = SlowConnectionPatience()
        var counts: [Int] = []
        for _ in 0..<8 {
            counts.append(patience.windowCount)
            patience.replaced(100)
        }
        #expect(counts == [2, 2, 4, 8, 16, 32, 64, 64])
        patience.replaced(150)
        #expect(patience.windowCount == 2)
    }

    /// Makes a connection deliver this number of bytes per second.
    private func receive(_ harness: inout StateMachineHarness, perSecond count: Int, seconds: Int) {
        for _ in 0..<seconds {
            harness.pass(.seconds(1))
            harness.bytes(count)
        }
    }

    private static func receiving(minimumRate: Int64?, tag: String = "\"v1\"") -> StateMachineHarness {
        var harness = StateMachineHarness.connecting { $0.minimumRate = minimumRate }
        harness.head(200, ["Content-Length": "100000", "ETag": tag])
        harness.bytes(50)
        harness.forget()
        return harness
    }

    @Test func `rule 59: a connection below the minimum rate is replaced after two windows, and continues its bytes`() {
        var harness = Self.receiving(minimumRate: 10)
        receive(&harness, perSecond: 9, seconds: 29)
        #expect(harness.requests.isEmpty)
        receive(&harness, perSecond: 9, seconds: 5)
        #expect(harness.done.contains("cancel 1"))
        #expect(harness.requests.count == 1)
        let start = harness.machine.bytes.count
        #expect(harness.requests.first?.headers["Range"] == "bytes=\(start)-")
        #expect(start > 50 + 9 * 29)
        #expect(harness.log.isEmpty, "no retry")
        #expect(harness.machine.budget.retriesUsed == 0)
    }

    @Test func `a connection at the minimum rate, and one whose bytes cannot be continued, are kept`() {
        for (minimumRate, tag) in [(8, "\"v1\""), (10, "W/\"v1\""), (nil, "\"v1\"")] as [(Int64?, String)] {
            var harness = Self.receiving(minimumRate: minimumRate, tag: tag)
            receive(&harness, perSecond: 9, seconds: 120)
            #expect(harness.requests.isEmpty)
        }
    }

    @Test func `a connection with one fast window of two is kept`() {
        var harness = Self.receiving(minimumRate: 10)
        for _ in 0..<6 {
            receive(&harness, perSecond: 1, seconds: 15)
            receive(&harness, perSecond: 100, seconds: 15)
        }
        #expect(harness.requests.isEmpty)
    }
}
