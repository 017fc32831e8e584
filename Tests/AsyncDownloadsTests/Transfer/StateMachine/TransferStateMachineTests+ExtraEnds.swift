internal import TestSupport
internal import Testing

@testable import AsyncDownloads

private let mebibyte = StateMachineHarness.mebibyte

/// Ends, refusals, and stalls of extra exchanges, which are not failures of the transfer.
@Suite("Ends of extra exchanges", .endsWhenHung)
struct TransferExtraEndTests {
    /// A transfer without retries and without an idle timeout.
    static func strict(_ settings: inout TransferSettings) {
        settings.retryPolicy = .never
        settings.idleTimeout = nil
    }

    // MARK: Surplus

    @Test func `a complete file does not wait for bytes that are not needed`() {
        var harness = StateMachineHarness.divided(2) {
            Self.strict(&$0)
            $0.segmentLimits.longestSurplus = 16 * mebibyte
        }
        harness.accept(2)
        harness.complete(2)
        harness.end(of: 2)
        harness.forget()
        harness.complete(1)
        #expect(harness.done.contains("cancel 1"))
        #expect(harness.done.last == "end finished")
        #expect(harness.log == ["verifying"])
    }

    @Test func `rule 29: the end of a body without surplus is waited for`() {
        var harness = StateMachineHarness.divided(2) { Self.strict(&$0) }
        harness.accept(2)
        harness.complete(1)
        harness.complete(2)
        #expect(harness.running == [2] && harness.machine.phase == .receiving)
        harness.end(of: 2)
        #expect(harness.done.last == "end finished")
    }

    // MARK: Without a head

    /// A transfer in windows whose first one has ended while the request for the second one is unanswered.
    private static func waiting() -> StateMachineHarness {
        var harness = StateMachineHarness.connecting {
            Self.strict(&$0)
            ($0.connections, $0.windowLength) = (.fixed(2), 4 * mebibyte)
        }
        harness.accept(1)
        harness.bytes(1000, of: 1)
        harness.complete(1)
        harness.end(of: 1)
        harness.forget()
        return harness
    }

    @Test(arguments: [DownloadError.Code.connectionLost, .secureConnectionFailed])
    func `the failure of an extra exchange without a head never fails the transfer`(_ code: DownloadError.Code) {
        var harness = Self.waiting()
        #expect(harness.running == [2])
        harness.lose(2, code)
        #expect(harness.log.isEmpty && harness.failure == nil)
        #expect(harness.requests.map { $0.headers["Range"] } == ["bytes=4194304-8388607"])
        #expect(harness.machine.exchanges.first?.isExtra == false)
    }

    @Test func `an extra exchange without a head is given up although nothing else receives`() {
        var harness = Self.waiting()
        harness.pass(.seconds(6))
        #expect(harness.done == ["cancel 2", "exchange 3 bytes=4194304-8388607"])
        #expect(harness.log.isEmpty)
    }

    @Test func `an extra exchange without a head is no idle transfer`() {
        var harness = Self.waiting()
        harness.machine.setPolicies(idleTimeout: .seconds(2), .never)
        harness.pass(.seconds(3))
        #expect(harness.done == ["cancel 2", "exchange 3 bytes=4194304-8388607"])
        #expect(harness.failure == nil)
    }

    // MARK: Without a network

    @Test func `while nothing is received at all, no exchange is canceled`() {
        var harness = StateMachineHarness.divided { Self.strict(&$0) }
        for id in [2, 3, 4] as [ExchangeID] {
            harness.accept(id)
            harness.bytes(1000, of: id)
        }
        harness.forget()
        harness.pass(.seconds(60))
        harness.bytes(1000, of: 1)
        harness.pass(.seconds(1))
        #expect(harness.running == [1, 2, 3, 4] && harness.log.isEmpty)
        // The others may need longer until they notice the network.
        for _ in 0..<8 {
            harness.pass(.seconds(1))
            harness.bytes(1000, of: 1)
        }
        #expect(harness.running == [1, 2, 3, 4])
        for _ in 0..<3 {
            harness.pass(.seconds(1))
            harness.bytes(1000, of: 1)
        }
        #expect(harness.done.filter { $0.hasPrefix("cancel") } == ["cancel 2", "cancel 3", "cancel 4"])
    }

    @Test func `failures without a network say nothing about the host`() {
        var harness = StateMachineHarness.divided(3) { Self.strict(&$0) }
        harness.accept(2)
        harness.bytes(100_000, of: 2)
        harness.accept(3)
        harness.bytes(100_000, of: 3)
        harness.lose(3)
        for _ in 0..<3 {
            harness.pass(.seconds(20))
            if let id = harness.running.subtracting([1, 2]).first { harness.lose(id) }
            #expect(harness.running == [1, 2], "nothing is requested while nothing is received")
            harness.bytes(1000, of: 1)
            #expect(harness.running.count == 3)
        }
        #expect(harness.machine.extras.number == 3)
    }

    // MARK: The number of connections

    @Test func `rule 58: the connection of a canceled exchange counts until its end`() {
        var harness = StateMachineHarness.divided(2)
        harness.automatic.remove(.cancelling)
        harness.accept(2)
        harness.bytes(1000, of: 2)
        harness.forget()
        harness.complete(1)
        #expect(harness.done.contains("cancel 1"))
        #expect(!harness.done.contains { $0.hasPrefix("exchange") })
        harness.end(.cancelled, of: 1)
        #expect(harness.done.last?.hasPrefix("exchange 3") == true)
        #expect(harness.running == [2, 3])
    }

    @Test func `rule 58: one refusal among accepted exchanges costs one connection, in any order`() {
        var harness = StateMachineHarness.divided(16) { $0.segmentLimits.shortestSegment = 64 << 10 }
        #expect(harness.running.count == 16)
        harness.forget()
        harness.lose(5)
        for id in (2...16).map(ExchangeID.init(rawValue:)) where id != 5 { harness.accept(id) }
        #expect(harness.machine.exchanges.segments.count == 15)
        #expect(harness.machine.extras.number == 15 && harness.log.isEmpty)
    }

    @Test func `rule 58: a host that accepts four connections gets four`() {
        var harness = StateMachineHarness.divided(16) { $0.segmentLimits.shortestSegment = 64 << 10 }
        for id in (2...16).map(ExchangeID.init(rawValue:)) {
            if [4, 9, 16].contains(id.rawValue) { harness.accept(id) } else { harness.head(503, of: id) }
        }
        #expect(harness.running == [1, 4, 9, 16])
        #expect(harness.machine.extras.number == 4)
    }

    @Test func `rule 58: exchanges that break at once are like refused ones`() {
        var harness = StateMachineHarness.divided(3)
        harness.accept(2)
        harness.accept(3)
        harness.bytes(1, of: 3)
        harness.forget()
        harness.lose(3)
        harness.bytes(1000, of: 1)
        #expect(harness.running == [1, 2] && harness.log.isEmpty)
        for _ in 0..<31 {
            harness.pass(.seconds(1))
            for id in [1, 2] as [ExchangeID] { harness.bytes(1000, of: id) }
        }
        #expect(harness.running == [1, 2, 4])
    }

    // MARK: Several at the same time

    @Test func `a server that doesn't know If-Match is asked without it by several exchanges`() {
        var harness = StateMachineHarness.divided()
        harness.automatic.remove(.cancelling)
        for id in [2, 3, 4] as [ExchangeID] { harness.head(412, ["ETag": "\"v1\""], of: id) }
        harness.forget()
        for id in [2, 3, 4] as [ExchangeID] { harness.end(.cancelled, of: id) }
        #expect(!harness.machine.extras.isOff)
        #expect(harness.requests.count == 3 && harness.requests.allSatisfy { $0.headers["If-Match"] == nil })
    }

    @Test func `rule 35: the same difference in several responses is one difference`() {
        var harness = StateMachineHarness.divided()
        harness.automatic.remove(.cancelling)
        harness.forget()
        for id in [2, 3, 4] as [ExchangeID] { harness.head(206, harness.part(id, tag: "\"v2\""), of: id) }
        #expect(harness.done == ["cancel 2", "cancel 3", "cancel 4"])
        harness.forget()
        for id in [2, 3, 4] as [ExchangeID] { harness.end(.cancelled, of: id) }
        #expect(harness.requests.count == 3 && harness.running.contains(1))
        harness.automatic.insert(.cancelling)
        harness.head(206, harness.part(6, tag: "\"v2\""), of: 6)
        #expect(harness.requests.last?.headers["If-Range"] == "\"v1\"")
    }

    @Test func `rule 30: an exchange that brings too much loses its own bytes only`() {
        var harness = StateMachineHarness.divided()
        for id in [3, 4] as [ExchangeID] {
            harness.accept(id)
            harness.bytes(100_000, of: id)
        }
        harness.head(206, ["Content-Range": "bytes 4259840-4359839/16777216", "ETag": "\"v1\""], of: 2)
        harness.bytes(100_000, of: 2)
        #expect(harness.machine.bytes.count == 301_000)
        harness.forget()
        harness.bytes(1, of: 2)
        #expect(harness.log == ["restarted excessBytes 100000"])
        #expect(harness.done.first == "roll back to 201000")
        #expect(harness.machine.bytes.intervals.ranges.map(\.lowerBound) == [0, 8_454_144, 12_648_448])
        #expect(harness.machine.extras.isOff && harness.machine.budget.retriesUsed == 0)
    }

    @Test func `marks after a rollback are of another epoch than those before`() {
        var harness = StateMachineHarness.divided(2)
        #expect(harness.machine.bytes.epoch == 0)
        harness.accept(2)
        harness.complete(2)
        harness.bytes(1, of: 2)
        #expect(harness.machine.bytes.epoch == 1)
    }
}
