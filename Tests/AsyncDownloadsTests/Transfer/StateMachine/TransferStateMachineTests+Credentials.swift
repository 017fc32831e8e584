internal import TestSupport
internal import Testing

@testable import AsyncDownloads

private let mebibyte = StateMachineHarness.mebibyte

/// Bytes in several ranges that were received with other credentials (rule 9).
@Suite("Credentials of several ranges", .endsWhenHung)
struct TransferCredentialTests {
    /// The bytes of a transfer over several connections.
    private static let received = {
        var received = IntervalSet(0..<2 * mebibyte)
        received.insert(4 * mebibyte..<4 * mebibyte + 10)
        received.insert(9 * mebibyte..<12 * mebibyte)
        return received
    }()
    /// Both ends of each range, or the whole range.
    private static let probes = [
        0..<65536, 2 * mebibyte - 65536..<2 * mebibyte, 4 * mebibyte..<4 * mebibyte + 10,
        9 * mebibyte..<9 * mebibyte + 65536, 12 * mebibyte - 65536..<12 * mebibyte,
    ]

    private static func comparing() -> StateMachineHarness {
        var known = Representation.sample()
        (known.length, known.hasUnverifiedCredentials) = (16 * mebibyte, true)
        var harness = StateMachineHarness { $0.connections = .fixed(4) }
        harness.finding = .success(.bytes(known, received))
        harness.run()
        return harness
    }

    /// Answers the request of the last exchange, whose bytes are compared.
    private static func answer(_ harness: inout StateMachineHarness, isEqual: Bool = true) {
        guard let id = harness.exchange, let range = harness.machine.exchanges[id]?.request.range else { return }
        harness.accept(id)
        let count = Int((range.last ?? 0) + 1 - range.first)
        guard case .compare = harness.machine.bytesArrived(count, exchange: id, at: harness.now) else {
            Issue.record("\(range) is not compared")
            return
        }
        harness.feed(harness.machine.compared(isEqual, exchange: id, at: harness.now))
        if isEqual { harness.end(of: id) }
    }

    private static func changeHeaders(
        _ harness: inout StateMachineHarness, to headers: CallerHeaders = ["Authorization": "Bearer other"]
    ) {
        let other = SourceAddress.Replacement(url: .sample("https://a.example/file"), headers: headers)
        harness.feed(harness.machine.replaceAddress(other, at: harness.now))
    }

    /// Changes the headers while `count` bytes of an exchange are being written; the exchange doesn't end.
    private static func changeHeaders(
        _ harness: inout StateMachineHarness, whileWriting count: Int, of id: ExchangeID
    ) {
        harness.automatic.remove(.cancelling)
        guard case .write(let parts) = harness.machine.bytesArrived(count, exchange: id, at: harness.now) else {
            Issue.record("not written")
            return
        }
        changeHeaders(&harness)
        for part in parts {
            harness.feed(harness.machine.wrote(part.count, at: part.offset, exchange: id, at: harness.now))
        }
    }

    private static func range(_ request: ExchangeRequest?) -> String? { request?.headers["Range"] }

    @Test func `rule 9: both ends of every range are compared before anything is continued`() {
        var harness = Self.comparing()
        for probe in Self.probes {
            #expect(Self.range(harness.requests.last) == "bytes=\(probe.lowerBound)-\(probe.upperBound - 1)")
            Self.answer(&harness)
        }
        #expect(Self.range(harness.requests.last) == "bytes=2097152-")
        #expect(harness.machine.bytes.intervals == Self.received)
        #expect(harness.done.contains("confirm the credentials"))
    }

    @Test(arguments: 0..<5)
    func `rule 9: one different range discards all bytes`(_ different: Int) {
        var harness = Self.comparing()
        for _ in 0..<different { Self.answer(&harness) }
        Self.answer(&harness, isEqual: false)
        #expect(harness.log.last == "restarted credentialsChanged \(Self.received.count)")
        #expect(harness.requests.last?.headers["Range"] == nil)
    }

    @Test func `rule 9: the first bytes of all are compared if they are written after the change of credentials`() {
        var harness = StateMachineHarness.connecting()
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        Self.changeHeaders(&harness, whileWriting: 50, of: 1)
        #expect(harness.machine.bytes.count == 50)
        #expect(harness.machine.bytes.comparison?.next == 0..<50)
    }

    @Test func `rule 9: what was compared for other credentials is compared again`() {
        var harness = Self.comparing()
        Self.answer(&harness)
        #expect(harness.machine.bytes.comparison?.next == Self.probes[1])
        for headers: CallerHeaders in [["Authorization": "Bearer other"], [:]] {
            Self.changeHeaders(&harness, to: headers)
            #expect(harness.machine.bytes.comparison?.next == Self.probes[0])
        }
    }

    @Test func `rule 9: what is left after a rollback is compared`() throws {
        var harness = StateMachineHarness.divided(2)
        harness.accept(2)
        let exchange = try #require(harness.machine.exchanges[2])
        // One byte more than the head promised, so that no byte of the exchange counts.
        let count = Int(try #require(exchange.end) - exchange.position) + 1
        Self.changeHeaders(&harness, whileWriting: count, of: 2)
        let left = harness.machine.bytes.intervals
        #expect(!left.isEmpty)
        #expect(harness.machine.bytes.comparison == CredentialProof(left))
    }

    @Test(arguments: [false, true], [nil, "7"])
    func `rule 9: the record says that secret headers are sent before bytes follow`(
        _ isChecksumExpected: Bool, _ account: String?
    ) {
        var known = Representation.sample()
        known.hasUnverifiedCredentials = account == nil
        var harness = StateMachineHarness { settings in
            settings.headers = ["Authorization": "Bearer mine"]
            settings.account = account
            if isChecksumExpected { settings.checksum = .sha256(String(repeating: "0", count: 64)) }
        }
        harness.finding = .success(.bytes(known, IntervalSet(0..<50)))
        harness.run()
        #expect(harness.done.contains("save 50"))
    }

    @Test func `rule 9: bytes that are written after the change of credentials are compared too`() {
        var harness = StateMachineHarness.divided(2)
        harness.accept(2)
        Self.changeHeaders(&harness, whileWriting: 5000, of: 2)
        harness.forget()
        for id in [1, 2] as [ExchangeID] { harness.end(.cancelled, of: id) }
        #expect(Self.range(harness.requests.last) == "bytes=0-999")
        Self.answer(&harness)
        #expect(Self.range(harness.requests.last) == "bytes=8454144-8459143")
    }
}
