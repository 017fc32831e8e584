internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct RequestStrategyTests {
    private static let validator = Representation.sample().validator

    @Test func `requests are bounded until a server has answered one badly`() {
        var strategy = RequestStrategy(windowLength: 10)
        #expect(strategy.range(from: 50, validator: Self.validator).fields["Range"] == "bytes=50-59")
        strategy.useUnbounded()
        #expect(!strategy.isBounded)
        #expect(strategy.range(from: 50, validator: Self.validator).fields["Range"] == "bytes=50-")
        #expect(!RequestStrategy(windowLength: nil).isBounded)
    }

    @Test func `the condition is dropped once per URL`() {
        var strategy = RequestStrategy(windowLength: nil)
        #expect(strategy.mayDropCondition)
        strategy.dropCondition()
        #expect(!strategy.mayDropCondition)
        #expect(strategy.range(from: 50, validator: Self.validator).condition == .none)
        strategy.restoreCondition()
        #expect(strategy.range(from: 50, validator: Self.validator).condition != .none)
        #expect(!strategy.mayDropCondition)
        strategy.addressChanged()
        #expect(strategy.mayDropCondition)
    }

    @Test func `wrong answers count in a row and per URL`() {
        var strategy = RequestStrategy(windowLength: nil)
        #expect(strategy.countFault() == true)
        #expect(strategy.countFault() == false)
        strategy.rangeAnswered()
        #expect(strategy.countFault() == true)
        strategy.addressChanged()
        #expect(strategy.countFault() == true)
    }

    @Test func `a bounded request continues the one before unless something interrupts`() {
        var strategy = RequestStrategy(windowLength: 10)
        #expect(!strategy.continuesWindows)
        strategy.bodyStarted()
        #expect(strategy.continuesWindows)
        strategy.interrupted()
        #expect(!strategy.continuesWindows)
        var unbounded = RequestStrategy(windowLength: nil)
        unbounded.bodyStarted()
        #expect(!unbounded.continuesWindows)
    }
}
