internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Extra exchanges that are left when the first exchange has received its bytes.
extension TransferExtraEndTests {
    /// A transfer whose last exchange is an extra one, and the request after its end.
    private static func last() -> (harness: StateMachineHarness, request: String) {
        var harness = StateMachineHarness.divided(2) { strict(&$0) }
        harness.accept(2)
        harness.bytes(1000, of: 2)
        harness.pass(.milliseconds(1))
        harness.complete(1)
        // Others fetch what can be divided.
        var newest = 2
        while let id = harness.running.subtracting([2]).first {
            newest = id.rawValue
            harness.accept(id)
            harness.complete(id)
            if harness.running.contains(id) { harness.end(of: id) }
        }
        harness.forget()
        let first = harness.machine.bytes.intervals.prefixEnd
        return (harness, "exchange \(newest + 1) bytes=\(first)-")
    }

    @Test func `an extra exchange that stalls as the last one is replaced, and the transfer doesn't fail`() {
        var (harness, request) = Self.last()
        harness.pass(.seconds(9))
        #expect(harness.running == [2] && harness.done.isEmpty)
        harness.pass(.seconds(2))
        #expect(harness.done == ["cancel 2", request])
        #expect(harness.log.isEmpty && harness.failure == nil && harness.machine.exchanges.first?.isExtra == false)
        // A single exchange is waited for, without a timeout.
        harness.pass(.seconds(300))
        #expect(harness.running.count == 1)
    }

    @Test(arguments: [(Duration?.none, 30), (.seconds(40), 40)])
    func `the last exchange is waited for if nothing shows that others would receive`(
        _ idleTimeout: Duration?, seconds: Int
    ) {
        var (harness, _) = Self.last()
        harness.machine.setPolicies(idleTimeout: idleTimeout, .never)
        harness.bytes(1000, of: 2)
        harness.pass(.seconds(seconds - 1))
        #expect(harness.running == [2] && harness.done.isEmpty)
        harness.pass(.seconds(2))
        #expect(harness.done.first == "cancel 2" && harness.running.count == 1 && harness.failure == nil)
    }

    /// A transfer whose last exchanges are two extra ones, which have received their last bytes some time before the
    /// others.
    private static func lastTwo(after time: Duration, idleTimeout: Duration?) -> StateMachineHarness {
        var harness = StateMachineHarness.divided(3) {
            strict(&$0)
            $0.idleTimeout = idleTimeout
        }
        for id in [2, 3] as [ExchangeID] {
            harness.accept(id)
            harness.bytes(1000, of: id)
        }
        harness.pass(time)
        harness.complete(1)
        while let id = harness.running.subtracting([2, 3]).first {
            harness.accept(id)
            harness.complete(id)
            if harness.running.contains(id) { harness.end(of: id) }
        }
        harness.forget()
        return harness
    }

    @Test(arguments: [Duration?.none, .seconds(30)])
    func `extra exchanges that stall as the last ones are replaced, and the transfer doesn't fail`(
        idleTimeout: Duration?
    ) {
        var harness = Self.lastTwo(after: .seconds(1), idleTimeout: idleTimeout)
        harness.pass(.seconds(8))
        #expect(harness.running == [2, 3] && harness.done.isEmpty)
        harness.pass(.seconds(3))
        #expect(harness.done.prefix(2) == ["cancel 2", "cancel 3"])
        #expect(harness.log.isEmpty && harness.failure == nil)
        #expect(harness.running.count == 1 && harness.machine.exchanges.first?.isExtra == false)
    }

    @Test func `the last extra exchanges are waited for if all have stopped at the same time`() {
        var harness = Self.lastTwo(after: .milliseconds(100), idleTimeout: .seconds(30))
        harness.pass(.seconds(28))
        #expect(harness.running == [2, 3] && harness.done.isEmpty)
        harness.pass(.seconds(3))
        #expect(harness.done.prefix(2) == ["cancel 2", "cancel 3"])
        #expect(harness.log.isEmpty && harness.failure == nil, "the request that follows shows whether it is one")
    }

    @Test(arguments: [true, false])
    func `the transfer doesn't fail if an extra exchange breaks as the last one`(isTruncated: Bool) {
        var (harness, request) = Self.last()
        if isTruncated { harness.end(of: 2) } else { harness.lose(2) }
        #expect(harness.done == [request])
        #expect(harness.log.isEmpty && harness.failure == nil && harness.machine.exchanges.first?.isExtra == false)
        harness.lose()
        #expect(harness.failure?.code == .connectionLost, "the failure of a single exchange")
    }
}
