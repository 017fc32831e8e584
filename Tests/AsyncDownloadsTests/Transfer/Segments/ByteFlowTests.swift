internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ByteFlowTests {
    private static let pause = Duration.seconds(5)

    @Test func `a flow lasts from the first byte on, until a pause`() {
        var flow = ByteFlow()
        #expect(flow.time(at: .zero, pause: Self.pause) == nil && !flow.hasArrived(since: .zero))
        for second in [10, 14, 18] { flow.arrived(1, at: .seconds(second), pause: Self.pause) }
        #expect(flow.time(at: .seconds(20), pause: Self.pause) == .seconds(10))
        #expect(flow.time(at: .seconds(23), pause: Self.pause) == nil)
        #expect(flow.hasArrived(since: .seconds(17)) && !flow.hasArrived(since: .seconds(18)))
        flow.arrived(1, at: .seconds(23), pause: Self.pause)
        #expect(flow.time(at: .seconds(24), pause: Self.pause) == .seconds(1))
    }
}
