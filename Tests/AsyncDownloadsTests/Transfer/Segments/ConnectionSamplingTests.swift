internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the intervals of rate measurements, and of samples that can't be compared.
@Suite(.endsWhenHung)
struct ConnectionSamplingTests {
    @Test func `samples are frequent only while a rate is to be judged soon`() {
        var fixture = ControllerFixture()
        var interval: Duration { fixture.controller.sampleInterval(setup: fixture.sample.setup, at: fixture.now) }
        #expect(interval == .milliseconds(25))
        #expect(fixture.controller.sampleInterval(setup: .seconds(1), at: .zero) == .milliseconds(62.5))
        fixture.runUntilStep()
        #expect(interval == .milliseconds(25))
        // The step is rejected.
        fixture.run(5) { _, _ in 10 }
        #expect(interval == .milliseconds(125))
        fixture = ControllerFixture()
        fixture.run(5) { count, _ in Double(count) * 10 }
        #expect(interval == .milliseconds(125), "the maximum is reached")
        for change in [{ $0.mayTry = false }, { $0.isThrottled = true }, { $0.segmentCount = 0 }]
            as [(inout ConnectionController.Sample) -> Void]
        {
            fixture = ControllerFixture()
            change(&fixture.sample)
            for _ in 0..<100 {
                fixture.now += interval
                _ = fixture.controller.measure(fixture.sample, at: fixture.now)
            }
            #expect(interval == .milliseconds(125), "nothing can be judged")
        }
        fixture = ControllerFixture(.fixed(4))
        #expect(interval == .milliseconds(125))
    }

    @Test func `a time in which the process was suspended says nothing`() {
        var fixture = ControllerFixture(effectiveCount: 8)
        fixture.run(40) { _, _ in 100 }
        let number = fixture.controller.number
        fixture.sample.byteCount = 10_000_000
        for _ in 0..<3 {
            fixture.now += .seconds(8)
            _ = fixture.controller.measure(fixture.sample, at: fixture.now)
        }
        #expect(fixture.controller.number == number && !fixture.controller.hasCollapsed)
    }

    @Test func `beside files that start and end all the time, connections are not opened and closed all the time`() {
        for milliseconds in [400, 450, 800] {
            var fixture = ControllerFixture()
            var stepCount = 0
            for _ in 0..<60_000 / milliseconds {
                fixture.run(Double(milliseconds) / 1000) { count, _ in Double(count) * 10 }
                if fixture.controller.isTrying { stepCount += 1 }
                fixture.controller.disturbed(by: .otherTransfer, at: fixture.now)
            }
            #expect(stepCount <= 6)
        }
    }

    @Test func `a large step of which few connections get a segment is judged with these`() {
        var fixture = ControllerFixture()
        fixture.largestCount = 6
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers.starts(with: [1, 2, 10, 6]), "\(fixture.numbers)")
        #expect(fixture.controller.effectiveCount == 6)
    }
}
