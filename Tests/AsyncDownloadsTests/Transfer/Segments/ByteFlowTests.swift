internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ByteFlowTests {
    private static let pause = Duration.seconds(5)

    @Test func `a flow lasts from the first byte on, until a pause`() {
        var flow = ByteFlow()
        #expect(flow.time(at: .zero, pause: Self.pause) == nil && !flow.hasArrived(since: .zero))
        for second in [10, 14, 18] { flow.arrived(1, isAlone: true, at: .seconds(second), pause: Self.pause) }
        #expect(flow.time(at: .seconds(20), pause: Self.pause) == .seconds(10))
        #expect(flow.time(at: .seconds(23), pause: Self.pause) == nil)
        #expect(flow.hasArrived(since: .seconds(17)) && !flow.hasArrived(since: .seconds(18)))
        flow.arrived(1, isAlone: true, at: .seconds(23), pause: Self.pause)
        #expect(flow.time(at: .seconds(24), pause: Self.pause) == .seconds(1))
    }

    @Test func `parts are those of a single exchange and a single host`() {
        var flow = ByteFlow()
        for time in [0, 200, 400] { flow.arrived(1, isAlone: true, at: .milliseconds(time), pause: Self.pause) }
        #expect(flow.parts?.interval == .milliseconds(200))
        flow.arrived(1, isAlone: false, at: .milliseconds(450), pause: Self.pause)
        #expect(flow.parts == nil)
        for time in [500, 600] { flow.arrived(1, isAlone: true, at: .milliseconds(time), pause: Self.pause) }
        #expect(flow.parts?.interval == .milliseconds(100))
        flow.hostChanged()
        #expect(flow.parts == nil)
    }
}
