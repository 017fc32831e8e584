internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ByteFlowTests {
    private static let pause = Duration.seconds(5)

    @Test func `a flow lasts from the first byte on, until a pause`() {
        var flow = ByteFlow()
        #expect(flow.time(at: .zero, pause: Self.pause) == nil && !flow.hasArrived(since: .zero))
        for second in [10, 14, 18] { flow.arrived(1, of: 1, isAlone: true, at: .seconds(second), pause: Self.pause) }
        #expect(flow.time(at: .seconds(20), pause: Self.pause) == .seconds(10))
        #expect(flow.time(at: .seconds(23), pause: Self.pause) == nil)
        #expect(flow.hasArrived(since: .seconds(17)) && !flow.hasArrived(since: .seconds(18)))
        flow.arrived(1, of: 1, isAlone: true, at: .seconds(23), pause: Self.pause)
        #expect(flow.time(at: .seconds(24), pause: Self.pause) == .seconds(1))
    }

    @Test func `parts are those of a single exchange and a single host`() {
        var flow = ByteFlow()
        for time in [0, 200, 400] { flow.arrived(1, of: 1, isAlone: true, at: .milliseconds(time), pause: Self.pause) }
        #expect(flow.parts?.interval == .milliseconds(200))
        flow.arrived(1, of: 2, isAlone: false, at: .milliseconds(450), pause: Self.pause)
        #expect(flow.parts == nil)
        for time in [500, 600] { flow.arrived(1, of: 1, isAlone: true, at: .milliseconds(time), pause: Self.pause) }
        #expect(flow.parts?.interval == .milliseconds(100))
        flow.hostChanged()
        #expect(flow.parts == nil)
    }

    @Test func `the parts of several exchanges show the sum of their rates`() {
        var flow = ByteFlow()
        func part(_ id: ExchangeID, _ count: Int, at time: Int, isAlone: Bool = false) {
            flow.arrived(count, of: id, isAlone: isAlone, at: .milliseconds(time), pause: Self.pause)
        }
        func parts(_ ids: ExchangeID..., at time: Int) -> ConnectionParts? {
            flow.connectionParts(of: ids, at: .milliseconds(time))
        }
        part(1, 2000, at: 0, isAlone: true)
        part(1, 2000, at: 400, isAlone: true)
        part(2, 2000, at: 410)
        #expect(parts(1, 2, at: 500) == nil)
        part(1, 1000, at: 800)
        part(2, 2000, at: 810)
        let both = ConnectionParts(rate: 10_000, shortestInterval: .milliseconds(400), firstEnd: .milliseconds(800))
        #expect(parts(1, 2, at: 900) == both)
        #expect(parts(1, 2, 3, at: 900) == nil)
        // A shorter part is followed by a shorter pause.
        part(1, 2000, at: 1000)
        #expect(parts(1, at: 1000)?.rate == 5000 && parts(1, at: 1000)?.shortestInterval == .milliseconds(200))
        // A steady flow, or one that has paused, has no parts.
        for time in stride(from: 1010, through: 1450, by: 20) { part(1, 100, at: time) }
        #expect(parts(1, at: 1450) == nil && parts(2, at: 1250) != nil && parts(2, at: 1450) == nil)
        // An exchange that has ended is forgotten.
        part(2, 2000, at: 1500)
        flow.keep { $0 == 1 }
        #expect(parts(2, at: 1500) == nil)
    }

    @Test func `the bounded requests of one transfer continue the parts of the last one`() {
        var flow = ByteFlow()
        for (id, time) in [(1, 0), (1, 200), (2, 400), (3, 600)] as [(ExchangeID, Int)] {
            flow.arrived(1, of: id, isAlone: true, at: .milliseconds(time), pause: Self.pause)
        }
        #expect(flow.parts?.interval == .milliseconds(200))
    }
}
