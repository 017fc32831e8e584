internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("ConnectionController", .endsWhenHung)
struct ConnectionControllerTests {
    @Test func `connections that add their whole rate are added up to the maximum`() {
        var fixture = ControllerFixture()
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers == [1, 2, 10, 16])
        #expect(fixture.controller.effectiveCount == 16)
    }

    @Test func `the maximum bounds the climb`() {
        var fixture = ControllerFixture(.automatic(maximum: 6))
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers == [1, 2, 6])
        fixture = ControllerFixture(.automatic(maximum: 1))
        fixture.run(60) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers == [1])
    }

    @Test func `a step that gains too little is taken back`() {
        var fixture = ControllerFixture()
        fixture.run(20) { count, _ in [1: 10.0, 2: 20, 4: 40][count] ?? 42 }
        #expect(fixture.numbers == [1, 2, 10, 4])
        #expect(fixture.controller.effectiveCount == 4)
    }

    @Test func `a step that gains something in the first climb is kept in part`() {
        var fixture = ControllerFixture()
        fixture.run(25) { count, _ in min(Double(count) * 20, 110) }
        // A small gain is judged again, beside a rate that has settled.
        #expect(fixture.numbers == [1, 2, 10, 6])
    }

    @Test func `on a link that one connection fills, one is kept, and the next try comes later each time`() {
        var fixture = ControllerFixture()
        var tries: [Double] = []
        var last = 1
        for second in 0..<1000 {
            fixture.run(1) { count, time in
                if count > last { tries.append(time) }
                last = count
                return 100
            }
            _ = second
        }
        #expect(tries.count >= 4)
        let pauses = zip(tries, tries.dropFirst()).map { $1 - $0 }
        for (pause, expected) in zip(pauses, [30.0, 60, 120, 240]) {
            #expect((expected...expected + 4).contains(pause))
        }
        #expect(fixture.controller.number == 1)
    }

    @Test func `what another file loses is no gain`() {
        var fixture = ControllerFixture()
        fixture.run(10, others: { count, _ in 100 - Double(count) * 20 }, rate: { count, _ in Double(count) * 20 })
        #expect(fixture.numbers == [1, 2, 1])
    }

    @Test func `what another file gains is no gain, and small losses of a faster one are chance`() {
        var fixture = ControllerFixture()
        fixture.run(10, others: { count, _ in Double(count) * 50 }, rate: { _, _ in 20 })
        #expect(fixture.numbers == [1, 2, 1])
        fixture = ControllerFixture()
        fixture.run(10, others: { count, _ in count == 1 ? 1000 : 920 }, rate: { count, _ in Double(count) * 20 })
        #expect(fixture.numbers == [1, 2, 10, 16])
    }

    @Test func `a rate that varies from window to window because of another file is not judged`() {
        var fixture = ControllerFixture()
        fixture.run(10, others: { _, time in time.truncatingRemainder(dividingBy: 0.5) < 0.25 ? 60 : 100 }) { _, _ in 4
        }
        #expect(fixture.numbers == [1, 2, 1])
    }

    @Test func `new connections have four times their setup to receive their share`() {
        var fixture = ControllerFixture()
        fixture.sample.setup = .milliseconds(500)
        var start: Double?
        fixture.run(20) { count, time in
            guard count > 1 else { return 10 }
            start = start ?? time
            // The second connection is slow at first.
            return time - (start ?? time) < 1.5 ? 10 : Double(count) * 10
        }
        #expect(fixture.numbers.prefix(3) == [1, 2, 4])
    }

    @Test func `a disturbed step is tried again soon when another file has ended`() {
        var fixture = ControllerFixture()
        for _ in 0..<6 {
            fixture.runUntilStep()
            fixture.controller.disturbed(by: .otherTransfer, at: fixture.now)
        }
        fixture.runUntilStep()
        fixture.controller.disturbed(by: .departure, at: fixture.now)
        let end = fixture.now
        fixture.runUntilStep()
        #expect(fixture.now - end < .seconds(2))
    }

    @Test func `when another file has ended, a rejected step is tried again soon`() {
        var fixture = ControllerFixture()
        fixture.run(3) { _, _ in 20 }
        fixture.controller.disturbed(by: .otherTransfer, at: fixture.now)
        fixture.run(6) { _, _ in 20 }
        #expect(fixture.numbers == [1, 2, 1])
        fixture.controller.disturbed(by: .departure, at: fixture.now)
        fixture.run(1) { _, _ in 20 }
        #expect(fixture.numbers == [1, 2, 1], "not at once, since several files may end")
        fixture.run(3) { count, _ in Double(count) * 20 }
        #expect(fixture.numbers.starts(with: [1, 2, 1, 2, 10]))
    }

    @Test func `a step whose connections get no segment is no rejection`() {
        var fixture = ControllerFixture()
        fixture.largestCount = 1
        fixture.run(100) { _, _ in 10 }
        #expect(fixture.numbers.starts(with: [1, 2, 1, 2, 1, 2]), "it is tried again every thirty seconds")
        #expect(fixture.controller.effectiveCount == nil)
        fixture.largestCount = .max
        fixture.run(50) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16)
    }

    @Test func `a step of which some connections get a segment is judged with these`() {
        var fixture = ControllerFixture(effectiveCount: 4)
        fixture.largestCount = 6
        fixture.run(60) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.effectiveCount == 6 && fixture.controller.number >= 6)
    }

    @Test func `a step ends when the turn of the transfer does`() {
        var fixture = ControllerFixture()
        fixture.runUntilStep()
        fixture.sample.mayTry = false
        fixture.run(0.125) { _, _ in 10 }
        #expect(fixture.controller.number == 1 && !fixture.controller.isTrying)
        fixture.sample.mayTry = true
        fixture.run(29) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 1, "a step that takes so long isn't repeated at once")
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16, "it was no rejection")
    }

    @Test func `a step that an expired URL interrupts is tried again at once when there is a fresh one`() {
        var fixture = ControllerFixture()
        fixture.runUntilStep()
        fixture.sample.mayRequest = false
        fixture.run(5) { _, _ in 10 }
        #expect(fixture.controller.number == 1 && !fixture.controller.isTrying)
        fixture.sample.mayRequest = true
        fixture.run(6) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16)
    }

    @Test func `a flow in large parts, of which windows contain unequal numbers, settles within a second`() {
        var fixture = ControllerFixture()
        // nginx with a limit sends 2 MiB ten times a second, thus in turn two and three times within a window.
        var last = 0.0
        fixture.run(6) { count, time in
            let partCount = (time * 10).rounded(.down) - (last * 10).rounded(.down)
            defer { last = time }
            return partCount * 2 / (time - last) * Double(count)
        }
        #expect(fixture.numbers == [1, 2, 10, 16])
    }

    @Test func `a flow in bursts is judged by means over several bursts`() {
        var fixture = ControllerFixture()
        fixture.run(30) { count, time in time.truncatingRemainder(dividingBy: 1) <= 0.25 ? Double(count) * 40 : 0 }
        #expect(fixture.controller.number == 16)
        fixture = ControllerFixture()
        fixture.run(30) { count, time in time.truncatingRemainder(dividingBy: 1) <= 0.25 ? 40 : 0 }
        #expect(fixture.controller.number == 1)
    }

    @Test func `nothing is tried while something else limits the rate`() {
        var fixture = ControllerFixture()
        fixture.sample.isThrottled = true
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers == [1])
        fixture.sample.isThrottled = false
        fixture.sample.mayTry = false
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers == [1])
        fixture.sample.mayTry = true
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16)
    }

    @Test func `nothing is tried while nothing arrives`() {
        var fixture = ControllerFixture()
        fixture.run(30) { _, _ in 0 }
        #expect(fixture.numbers == [1])
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16)
    }

    @Test func `nothing is tried when little is left`() {
        var fixture = ControllerFixture()
        fixture.sample.remainingCount = 7 << 20
        fixture.run(20) { count, _ in Double(count) }
        #expect(fixture.numbers == [1], "less than 4 MiB for each of two")
        fixture = ControllerFixture()
        fixture.sample.remainingCount = 28 << 20
        fixture.run(20) { count, _ in Double(count) * 15 }
        #expect(fixture.numbers == [1], "less than two seconds are left")
        fixture = ControllerFixture()
        fixture.sample.remainingCount = 28 << 20
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers.prefix(2) == [1, 2])
    }

    @Test func `the start of another file takes a step back, and it is tried again`() {
        var fixture = ControllerFixture()
        fixture.runUntilStep()
        #expect(fixture.controller.number == 2)
        fixture.controller.disturbed(by: .otherTransfer, at: fixture.now)
        #expect(fixture.controller.number == 1 && !fixture.controller.isTrying)
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16, "it was no rejection")
    }

    @Test func `windows in which a connection has no segment don't count`() {
        var fixture = ControllerFixture(effectiveCount: 2)
        fixture.run(29) { count, _ in Double(count) * 10 }
        fixture.sample.segmentCount = 1
        for _ in 0..<80 {
            fixture.now += .milliseconds(125)
            fixture.sample.byteCount = 1_250_000
            #expect(fixture.controller.measure(fixture.sample, at: fixture.now) == 2)
        }
    }

    @Test func `a file from a known host starts with the number that was worth it`() {
        var fixture = ControllerFixture(effectiveCount: 6)
        #expect(fixture.controller.number == 6)
        fixture.run(25) { count, _ in Double(min(count, 6)) * 10 }
        #expect(fixture.numbers == [6])
    }

    @Test func `a smaller bound applies at once, and a larger one after a step`() {
        var fixture = ControllerFixture()
        fixture.run(20) { count, _ in Double(count) * 10 }
        fixture.sample.bound = 3
        fixture.run(2) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 3)
        fixture.sample.bound = 16
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.controller.number == 16)
    }

    @Test func `a smaller bound ends a step that is being judged`() {
        var fixture = ControllerFixture()
        fixture.runUntilStep()
        fixture.sample.bound = 1
        fixture.run(0.125) { _, _ in 10 }
        #expect(fixture.controller.number == 1 && !fixture.controller.isTrying)
        fixture.run(20) { count, _ in Double(count) * 10 }
        #expect(fixture.numbers == [1, 2, 1])
    }

    @Test func `a fixed number is used at once, within the bound`() {
        var fixture = ControllerFixture(.fixed(8))
        #expect(fixture.controller.number == 8)
        fixture.sample.bound = 5
        fixture.run(40) { _, _ in 10 }
        #expect(fixture.controller.number == 5)
        fixture.sample.bound = 16
        fixture.run(40) { _, _ in 10 }
        #expect(fixture.controller.number == 8)
    }
}
