internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct ResponseAcceptanceTests {
    @Test func `the body flows when one accepts, or when no closure is being called`() {
        var acceptance = ResponseAcceptance()
        #expect(acceptance.permitsBody)
        let number = acceptance.validate(1)
        acceptance.hold(5)
        var held = acceptance.takeHeldExchange()
        #expect(!acceptance.permitsBody && held == nil && acceptance.holdsBody)
        acceptance.accept(2)
        #expect(acceptance.permitsBody && acceptance.isPending(1))
        held = acceptance.takeHeldExchange()
        #expect(held == 5 && !acceptance.holdsBody)
        let wasOfUse = [number + 1, number, number].map { acceptance.ended(1, number: $0) }
        #expect(wasOfUse == [false, true, false] && !acceptance.isPending)
    }

    @Test func `a subscriber that leaves while its closure is called has not accepted the response`() {
        var acceptance = ResponseAcceptance()
        acceptance.accept(1)
        let number = acceptance.validate(2)
        _ = acceptance.remove(1)
        _ = acceptance.remove(2)
        #expect(!acceptance.hasRefused(1) && acceptance.hasRefused(2))
        let wasOfUse = acceptance.ended(2, number: number)
        #expect(!wasOfUse && acceptance.permitsBody)
    }
}
