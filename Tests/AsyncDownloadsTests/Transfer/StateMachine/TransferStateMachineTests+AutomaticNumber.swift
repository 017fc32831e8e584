internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Transfers that choose the number of their exchanges themselves.
@Suite(.endsWhenHung)
struct TransferAutomaticNumberTests {
    static let length: Int64 = 1 << 30
    /// The bytes that one connection receives between two samples: 8 MiB a second.
    static let share: Int64 = 1 << 20

    static func harness(
        _ mode: ConnectionController.Mode = .automatic(maximum: 16), length: Int64 = length
    ) -> StateMachineHarness {
        var harness = StateMachineHarness.connecting { $0.connections = mode }
        harness.head(200, ["Content-Length": "\(length)", "ETag": "\"v1\""])
        harness.bytes(1000)
        return harness
    }

    static func accept(_ id: ExchangeID, _ harness: inout StateMachineHarness) {
        guard let range = harness.machine.exchanges[id]?.request.range else { return }
        let fields: HeaderFields = [
            "Content-Range": "bytes \(range.first)-\(range.last ?? length - 1)/\(length)", "ETag": "\"v1\"",
        ]
        harness.head(206, fields, of: id)
    }

    /// Lets every connection receive for some seconds, on a link for `capacity` connections, and accepts new ones.
    static func run(_ harness: inout StateMachineHarness, seconds: Double, capacity: Int = .max) {
        for _ in 0..<Int(seconds * 8) {
            for id in harness.machine.exchanges.requestIDs {
                accept(id, &harness)
            }
            let exchanges = harness.machine.exchanges.segments.map(\.exchange)
            let count = share * Int64(min(exchanges.count, capacity)) / Int64(max(1, exchanges.count))
            for id in exchanges {
                harness.bytes(Int(count), of: id)
                harness.budget.receivedCount += count
            }
            harness.pass(.milliseconds(125))
        }
    }

    static func count(_ harness: StateMachineHarness) -> Int { harness.machine.exchanges.segments.count }

    @Test func `connections are added while they increase the rate`() {
        var harness = Self.harness()
        Self.run(&harness, seconds: 6)
        #expect(Self.count(harness) == 16)
        #expect(harness.log == ["started \(Self.length) resumable"])
    }

    @Test func `one connection that fills the link stays alone`() {
        var harness = Self.harness()
        Self.run(&harness, seconds: 20, capacity: 1)
        #expect(Self.count(harness) == 1)
        #expect(harness.machine.extras.number == 1)
    }

    @Test func `a number that the caller has chosen is reported only if the file can be divided`() {
        var harness = Self.harness(.fixed(16))
        #expect(harness.machine.connectionReport(at: harness.now)?.number == 16)
        harness = StateMachineHarness.connecting { $0.connections = .fixed(16) }
        harness.head(200, ["ETag": "\"v1\""])
        harness.bytes(1000)
        let report = harness.machine.connectionReport(at: harness.now)
        #expect(report?.number == 1 && report?.isFixed == true)
    }

    @Test func `a transfer without a first byte is checked less and less often`() {
        var harness = StateMachineHarness.connecting { $0.connections = .automatic(maximum: 16) }
        let start = harness.now
        var ticks: [Duration] = []
        for _ in 0..<5000 {
            if let tick = harness.tick.map({ $0 - start }), tick != ticks.last { ticks.append(tick) }
            harness.pass(.milliseconds(1))
        }
        #expect(Array(ticks.prefix(8)) == [25, 50, 100, 200, 400, 600, 800, 1000].map(Duration.milliseconds))
        let later = zip(ticks.dropFirst(7), ticks.dropFirst(8)).map { $1 - $0 }
        #expect(!later.isEmpty && later.allSatisfy { $0 >= .seconds(1) })
    }

    @Test func `a long body that can't be divided is checked rarely`() {
        var harness = StateMachineHarness.connecting { $0.connections = .automatic(maximum: 16) }
        harness.head(200, ["Content-Length": "\(Self.length)"])
        harness.bytes(1000)
        harness.pass(.seconds(2))
        let first = harness.tick
        while harness.tick == first { harness.pass(.milliseconds(1)) }
        #expect(harness.tick.map { $0 - harness.now } ?? .zero >= .milliseconds(124))
    }

    @Test(arguments: [false, true])
    func `a refusal of the first further connection says something only beside other files`(isShared: Bool) {
        var harness = Self.harness()
        harness.budget.isShared = isShared
        Self.run(&harness, seconds: 0.25)
        while !harness.machine.exchanges.hasRequests {
            harness.bytes(Int(Self.share), of: 1)
            harness.budget.receivedCount += Self.share
            harness.pass(.milliseconds(125))
        }
        for id in harness.machine.exchanges.requestIDs { harness.head(503, of: id) }
        let observation = harness.machine.takeObservation()?.observation
        #expect(observation?.isRefused == true && observation?.ceiling == (isShared ? 1 : nil))
    }

    @Test func `nothing is tried while another transfer tries, or while something else limits the rate`() {
        for change in [{ $0.mayTry = false }, { $0.isThrottled = true }] as [(inout ConnectionBudget) -> Void] {
            var harness = Self.harness()
            change(&harness.budget)
            Self.run(&harness, seconds: 10)
            #expect(Self.count(harness) == 1)
        }
    }

    @Test func `a host that was worth several connections gets them at once`() {
        var harness = Self.harness()
        harness.budget.effectiveCount = 4
        Self.run(&harness, seconds: 1.5)
        #expect(Self.count(harness) == 4)
    }

    @Test(arguments: [(8 << 20) - 1, nil] as [Int64?])
    func `a short file, or one of unknown length, is not measured`(length: Int64?) {
        var harness = StateMachineHarness.connecting { $0.connections = .automatic(maximum: 16) }
        harness.head(200, length.map { ["ETag": "\"v1\"", "Content-Length": "\($0)"] } ?? ["ETag": "\"v1\""])
        #expect(harness.tick.map { $0 - harness.now } == .milliseconds(25), "it may be long")
        harness.bytes(1000)
        harness.pass(.milliseconds(25))
        #expect(harness.machine.connectionReport(at: harness.now) == nil)
        #expect(harness.tick.map { $0 - harness.now } == .seconds(1), "it is checked no more often than others")
    }

    @Test func `a maximum of one turns further connections off`() {
        var harness = Self.harness(.automatic(maximum: 1))
        harness.budget.effectiveCount = 8
        Self.run(&harness, seconds: 6)
        #expect(Self.count(harness) == 1 && harness.machine.connectionReport(at: harness.now) == nil)
    }

    @Test func `what was found out about the host is returned once`() {
        var harness = Self.harness()
        #expect(harness.machine.takeObservation() == nil)
        Self.run(&harness, seconds: 6)
        let climbed = harness.machine.takeObservation()
        #expect(climbed?.observation == HostObservation(effectiveCount: 16, hasAccepted: true))
        #expect(climbed?.origin.host == "a.example")
        #expect(harness.machine.takeObservation() == nil)
        var refused = StateMachineHarness.divided(4)
        refused.accept(2)
        refused.head(503, ["Retry-After": "7"], of: 3)
        refused.head(503, of: 4)
        #expect(
            refused.machine.takeObservation()?.observation
                == HostObservation(ceiling: 2, isRefused: true, retryAfter: .seconds(7), hasAccepted: true))
        #expect(refused.machine.takeObservation() == nil)
    }

    @Test func `rule 37: the policy limits the time that the refusal of an extra connection states`() {
        var harness = StateMachineHarness.divided(2)
        harness.head(503, ["Retry-After": "86400"], of: 2)
        let longest = RetryPolicy.default.maximumRetryAfter
        #expect(harness.machine.takeObservation()?.observation.retryAfter == longest)
    }

    @Test func `one refused connection is no limit of the host`() {
        var harness = StateMachineHarness.divided(2)
        harness.head(503, of: 2)
        #expect(harness.machine.takeObservation()?.observation == HostObservation(isRefused: true))
    }

    @Test func `that a host ignores ranges is returned although nothing is measured any more`() {
        var harness = StateMachineHarness.divided(4)
        harness.head(200, ["Content-Length": "9"], of: 2)
        #expect(harness.machine.connectionReport(at: harness.now) == nil)
        #expect(harness.machine.takeObservation()?.observation == HostObservation(ignoresRanges: true))
    }

    @Test(arguments: [["ETag": "W/\"v1\""], ["Content-Encoding": "gzip", "ETag": "\"v1\""]] as [HeaderFields])
    func `a file that can't be divided is not measured`(fields: HeaderFields) {
        var harness = StateMachineHarness.connecting { $0.connections = .automatic(maximum: 16) }
        var fields = fields
        fields.append("\(Self.length)", for: "Content-Length")
        harness.head(200, fields)
        harness.bytes(1000)
        #expect(harness.machine.connectionReport(at: harness.now) == nil)
    }

    @Test func `at most four requests wait for their responses`() {
        var harness = Self.harness()
        harness.budget.effectiveCount = 16
        while !harness.machine.exchanges.hasRequests, harness.now < .seconds(3) {
            harness.bytes(1 << 20)
            harness.budget.receivedCount += 1 << 20
            harness.pass(.milliseconds(125))
        }
        for _ in 0..<4 { harness.bytes(1000, of: 1) }
        #expect(harness.machine.exchanges.requestIDs.count == 4)
    }

    @Test func `bounded requests that follow each other don't interrupt the measurement`() {
        var harness = StateMachineHarness.connecting {
            $0.connections = .automatic(maximum: 16)
            $0.windowLength = 8 << 20
        }
        while harness.machine.extras.number == 1, harness.now < .seconds(30) {
            guard let id = harness.exchange, let range = harness.machine.exchanges[id]?.request.range,
                let last = range.last
            else {
                Issue.record("no bounded request")
                return
            }
            harness.head(206, ["Content-Range": "bytes \(range.first)-\(last)/\(Self.length)", "ETag": "\"v1\""])
            for _ in 0..<8 {
                harness.bytes(Int(Self.share), of: id)
                harness.budget.receivedCount += Self.share
                harness.pass(.milliseconds(125))
            }
            harness.end(of: id)
        }
        #expect(harness.machine.extras.number > 1)
    }
}
