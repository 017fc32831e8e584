internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the moment at which a second connection is tried.
@Suite(.endsWhenHung)
struct FirstStepTests {
    @Test(arguments: [1.6, 2, 2.6, 4])
    func `a rate that grows is waited for`(factor: Double) {
        var fixture = ControllerFixture()
        func rate(_ count: Int, _ time: Double) -> Double { min(100, 20 * pow(factor, time)) }
        fixture.run(log(5) / log(factor) - 0.5) { rate($0, $1) }
        #expect(fixture.numbers == [1])
        fixture.run(10) { rate($0, $1) }
        #expect(fixture.numbers == [1, 2, 1])
    }

    @Test(arguments: [(10, 0.15), (11, 0.25)])
    func `the first step to a nearby server doesn't wait for a second window`(setup: Int, time: Double) {
        var fixture = ControllerFixture()
        fixture.sample.setup = .milliseconds(setup)
        while fixture.controller.number == 1 { fixture.run(0.001) { _, _ in 100 } }
        #expect(abs(fixture.now / .seconds(1) - time) < 0.03, "\(fixture.now)")
    }

    @Test func `the first step to a nearby server is undone if the rate grows without it`() {
        var fixture = ControllerFixture()
        fixture.sample.setup = .milliseconds(1)
        func rate(_ count: Int, _ time: Double) -> Double { min(100, 20 * pow(1.6, time)) }
        fixture.run(15) { rate($0, $1) }
        #expect(fixture.numbers == [1, 2, 1, 2, 1])
    }

    @Test func `a rate that grows for longer than ten seconds is taken as it is`() {
        var fixture = ControllerFixture()
        fixture.sample.remainingCount = .max
        func rate(_ count: Int, _ time: Double) -> Double { pow(2, time) }
        fixture.run(9.8) { rate($0, $1) }
        #expect(fixture.numbers == [1])
        fixture.run(1.2) { rate($0, $1) }
        #expect(fixture.numbers.prefix(2) == [1, 2])
    }

    @Test(arguments: [1.0, 2.4, 20])
    func `the first step to a nearby server is judged at each rate`(rate: Double) {
        var fixture = ControllerFixture()
        fixture.sample.setup = .milliseconds(1)
        fixture.run(3) { count, _ in Double(count) * rate }
        #expect(fixture.numbers == [1, 2, 10, 16])
    }

    @Test func `a pause that was taken for an interval of parts doesn't delay later steps`() {
        var fixture = ControllerFixture()
        fixture.sample.setup = .milliseconds(1)
        fixture.sample.parts = BodyParts(interval: .seconds(2), rate: 10_000)
        fixture.run(8) { count, _ in min(Double(count), 4) * 8 }
        #expect(fixture.numbers.last == 4, "\(fixture.numbers)")
    }

    @Test func `round trips are no parts`() {
        var fixture = ControllerFixture()
        fixture.sample.setup = .milliseconds(200)
        fixture.run(3) { count, _ in Double(count) * 10 }
        let numbers = fixture.numbers
        var other = ControllerFixture()
        other.sample.setup = .milliseconds(200)
        other.sample.parts = BodyParts(interval: .milliseconds(200), rate: 1_000_000)
        other.run(3) { count, _ in Double(count) * 10 }
        #expect(other.numbers == numbers && other.now == fixture.now)
    }

    @Test func `rare parts don't make samples rare`() {
        var fixture = ControllerFixture()
        fixture.sample.parts = BodyParts(interval: .seconds(2), rate: 10_000_000)
        fixture.run(10) { _, _ in 10 }
        #expect(
            fixture.controller.sampleInterval(setup: .milliseconds(20), at: fixture.now) <= .milliseconds(157))
    }

    /// Changes of parts that show that a second connection has doubled the rate of 5 MB/s, and the number that follows.
    private static let partChanges: [(change: @Sendable (inout ConnectionController.Sample) -> Void, number: Int)] = [
        ({ _ in }, 10),
        ({ $0.connectionParts?.rate = 9_000_000 }, 10),
        // The connections share a rate, or something else has increased it.
        ({ $0.connectionParts?.rate = 5_500_000 }, 2),
        ({ $0.connectionParts?.rate = 20_000_000 }, 2),
        ({ $0.connectionParts?.firstEnd = .zero }, 2),
        ({ $0.connectionParts?.shortestInterval = $0.setup }, 2),
        ({ $0.hasActiveOthers = true }, 2),
        ({ $0.segmentCount = 1 }, 2),
        ({ $0.segmentCount = 3 }, 2),
    ]

    @Test(arguments: partChanges.indices)
    func `a step is judged by the parts of its connections`(index: Int) {
        var fixture = ControllerFixture()
        fixture.sample.parts = BodyParts(interval: .milliseconds(400), rate: 5_000_000)
        while !fixture.controller.isTrying { fixture.run(0.001) { _, _ in 5 } }
        var sample = fixture.sample
        (sample.byteCount, sample.segmentCount) = (0, 2)
        sample.connectionParts = ConnectionParts(
            rate: 10_000_000, shortestInterval: .milliseconds(400), firstEnd: fixture.now + .milliseconds(10))
        Self.partChanges[index].change(&sample)
        let number = fixture.controller.measure(sample, at: fixture.now + .milliseconds(20))
        #expect(number == Self.partChanges[index].number)
    }
}
