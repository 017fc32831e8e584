internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import batch

/// Tests of the checks of the demonstration, with observations that are not as promised.
@Suite(.endsWhenHung) struct DemoCheckTests {
    private static let half = DemoFile.interruption

    private static func released(_ change: (inout Observations.DemoObservation) -> Void, sent: Int64) -> DemoCheck {
        var observation = Observations.DemoObservation()
        observation.released = [half]
        observation.keptOnDisk = half
        observation.resumedAt = [half]
        observation.hasRightBytes = true
        change(&observation)
        return DemoCheck(
            .releasedFromMemory, of: .released, observations: [observation], requests: [], sent: sent)
    }

    private static func canceled(_ change: (inout Observations.DemoObservation) -> Void, sent: Int64) -> DemoCheck {
        var canceled = Observations.DemoObservation()
        canceled.keptOnDisk = half
        var again = Observations.DemoObservation()
        again.resumedAt = [half]
        again.hasRightBytes = true
        change(&again)
        return DemoCheck(
            .canceledMidway, of: .canceled, observations: [canceled, again], requests: [], sent: sent)
    }

    @Test func `a release from memory is as promised only if all bytes are kept and none is sent again`() {
        #expect(Self.released({ _ in }, sent: 2 * Self.half).isAsPromised)
        #expect(!Self.released({ _ in }, sent: 2 * Self.half + 1).isAsPromised)
        #expect(!Self.released({ $0.released = [] }, sent: 2 * Self.half).isAsPromised)
        #expect(!Self.released({ $0.keptOnDisk = 0 }, sent: 2 * Self.half).isAsPromised)
        #expect(!Self.released({ $0.resumedAt = [] }, sent: 2 * Self.half).isAsPromised)
        #expect(!Self.released({ $0.hasRightBytes = false }, sent: 2 * Self.half).isAsPromised)
    }

    @Test func `a cancellation is as promised only if the next request continues from all kept bytes`() {
        #expect(Self.canceled({ _ in }, sent: 2 * Self.half).isAsPromised)
        #expect(!Self.canceled({ _ in }, sent: 2 * Self.half + 1).isAsPromised)
        #expect(!Self.canceled({ $0.resumedAt = [Self.half - 1] }, sent: 2 * Self.half).isAsPromised)
        #expect(!Self.canceled({ $0.hasRightBytes = false }, sent: 2 * Self.half).isAsPromised)
    }
}
