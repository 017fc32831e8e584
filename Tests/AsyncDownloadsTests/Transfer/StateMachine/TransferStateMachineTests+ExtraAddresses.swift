internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

private let mebibyte = StateMachineHarness.mebibyte

/// Extra exchanges whose URL is the target of a redirect that has expired.
@Suite("Addresses of extra exchanges", .endsWhenHung)
struct TransferExtraAddressTests {
    private static let origin = "https://a.example/file"

    private static func target(_ number: Int) -> String { "https://b.example/signed-\(number)" }

    /// A transfer that was redirected, whose extra exchanges were sent to the target.
    private static func redirected(_ count: Int) -> StateMachineHarness {
        var harness = StateMachineHarness.connecting {
            $0.connections = .fixed(count)
            $0.headers = ["Authorization": "Bearer 1"]
        }
        harness.head(302, ["Location": target(1)])
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""])
        harness.bytes(1000)
        return harness
    }

    private static func addresses(_ harness: StateMachineHarness) -> [String] {
        harness.requests.map(\.url.absoluteString)
    }

    @Test(arguments: [401, 403, 404, 410])
    func `rule 10: after a refusal, one request goes through the requested URL`(status: Int) {
        var harness = Self.redirected(4)
        #expect(Self.addresses(harness).suffix(3) == [Self.target(1), Self.target(1), Self.target(1)])
        harness.forget()
        harness.head(status, of: 4)
        #expect(harness.done.prefix(3) == ["cancel 4", "cancel 3", "cancel 5"])
        #expect(Self.addresses(harness) == [Self.origin])
        #expect(harness.requests.last?.headers["Authorization"] == "Bearer 1")
        #expect(harness.running == [2, 6])
        harness.head(302, ["Location": Self.target(2)], of: 6)
        #expect(Self.addresses(harness) == [Self.origin, Self.target(2)])
        // Rule 11: the other origin gets no secrets.
        #expect(harness.requests.last?.headers["Authorization"] == nil)
        harness.accept(7)
        harness.bytes(1000, of: 2)
        #expect(harness.running == [2, 7, 8, 9])
        #expect(Self.addresses(harness).suffix(2) == [Self.target(2), Self.target(2)])
        #expect(harness.log.isEmpty && harness.machine.extras.number == 4)
    }

    @Test func `rule 58: a refusal by the requested URL is a refusal`() {
        var harness = Self.redirected(2)
        harness.head(403, of: 3)
        harness.forget()
        harness.head(403, of: 4)
        harness.bytes(1000, of: 2)
        #expect(harness.running == [2] && harness.requests.isEmpty && harness.log.isEmpty)
        #expect(harness.machine.extras.number == 1 && harness.machine.budget.retriesUsed == 0)
    }

    @Test func `a redirect of the requested URL that is not permitted ends the division`() {
        var harness = Self.redirected(2)
        harness.head(403, of: 3)
        harness.forget()
        harness.head(302, ["Location": "http://b.example/plain"], of: 4)
        harness.bytes(1000, of: 2)
        #expect(harness.running == [2] && harness.requests.isEmpty && harness.machine.extras.isOff)
    }

    @Test func `another host may divide what the one before did not`() {
        var harness = StateMachineHarness.divided(2)
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""], of: 2)
        #expect(harness.machine.extras.isOff)
        for (url, isOff) in [("https://a.example/other", true), ("https://b.example/file", false)] {
            guard let url = URL(string: url) else { return }
            harness.feed(harness.machine.replaceAddress(.init(url: url), at: harness.now))
            #expect(harness.machine.extras.isOff == isOff)
        }
        if let id = harness.exchange { harness.accept(id) }
        harness.bytes(1000)
        #expect(harness.running.count == 2)
    }

    @Test func `a redirect to another host forgets what the one before has shown`() {
        var harness = StateMachineHarness.divided(2)
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""], of: 2)
        #expect(harness.machine.extras.isOff)
        harness.lose(1)
        harness.pass(.seconds(60))
        harness.head(302, ["Location": "https://b.example/file"])
        if let id = harness.exchange { harness.accept(id) }
        harness.bytes(1000)
        #expect(harness.running.count == 2)
    }

    @Test func `redirects to hosts that show different objects cause a bounded number of requests`() {
        var harness = StateMachineHarness.connecting { $0.connections = .fixed(2) }
        var roundCount = 0
        while harness.delay == nil, harness.endings.isEmpty, roundCount < 50 {
            roundCount += 1
            harness.head(302, ["Location": "https://host\(roundCount % 2).example/file"])
            guard let first = harness.exchange else { break }
            if roundCount == 1 {
                harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""])
            } else {
                harness.accept(first)
            }
            harness.bytes(1, of: first)
            if harness.running.count == 1 { break }
            for _ in 0..<2 {
                guard let extra = harness.machine.exchanges.requestIDs.first else { break }
                harness.head(206, harness.part(extra, tag: "\"v2\""), of: extra)
                harness.bytes(1, of: first)
            }
            // The host refuses the next request, so that the one after it goes to the requested URL.
            harness.head(403)
        }
        #expect(2...10 ~= roundCount)
    }

    @Test func `windows of several exchanges take the memory of one`() {
        var harness = StateMachineHarness.connecting {
            ($0.connections, $0.windowLength) = (.fixed(4), 8 * mebibyte)
        }
        harness.accept(1)
        harness.bytes(1000)
        let lengths = harness.machine.exchanges.requestIDs.compactMap { harness.machine.exchanges[$0]?.range?.count }
        #expect(lengths.count == 3 && lengths.allSatisfy { $0 <= 2 * mebibyte })
        #expect(lengths.contains(Int(2 * mebibyte)))
    }

    @Test func `a target that expires again is renewed again`() {
        var harness = Self.redirected(2)
        harness.head(403, of: 3)
        harness.head(302, ["Location": Self.target(2)], of: 4)
        harness.accept(5)
        harness.bytes(100_000, of: 5)
        harness.lose(5)
        harness.forget()
        harness.head(403, of: 6)
        #expect(Self.addresses(harness) == [Self.origin])
    }
}

/// Parts of an object without a strong validator, which the expected digest verifies.
@Suite("Parts that only a digest verifies", .endsWhenHung)
struct TransferWeakPartsTests {
    private static let tag = "W/\"v1\""

    private static func divided(_ policy: RetryPolicy = RetryPolicy()) -> StateMachineHarness {
        var harness = StateMachineHarness.connecting {
            ($0.connections, $0.retryPolicy) = (.fixed(3), policy)
            $0.checksum = .sha256(String(repeating: "0", count: 64))
        }
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": tag])
        harness.bytes(1000)
        return harness
    }

    @Test func `parts with the same weak tag are combined, and the digest is verified first`() {
        var harness = Self.divided()
        #expect(harness.running == [1, 2, 3])
        #expect(harness.requests.allSatisfy { $0.headers["If-Match"] == nil })
        for id in [2, 3] as [ExchangeID] { harness.head(206, harness.part(id, tag: Self.tag), of: id) }
        #expect(harness.machine.bytes.reliesOnDigest)
        for id in [1, 2, 3] as [ExchangeID] { harness.complete(id) }
        harness.end(of: 3)
        #expect(harness.done.last == "end finished")
    }

    @Test func `a wrong digest restarts once, over one connection`() {
        var harness = Self.divided()
        for id in [2, 3] as [ExchangeID] { harness.head(206, harness.part(id, tag: Self.tag), of: id) }
        for id in [1, 2, 3] as [ExchangeID] { harness.complete(id) }
        harness.finishing = .failure(DownloadError(.checksumMismatch))
        harness.end(of: 3)
        #expect(harness.log.last == "restarted digestMismatch 16777216")
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": Self.tag])
        harness.bytes(1000)
        #expect(harness.running.count == 1)
        if let id = harness.exchange { harness.complete(id) }
        harness.end()
        #expect(harness.failure?.code == .checksumMismatch)
    }

    /// Loses the last of three parts after it has received more bytes than a refused request would.
    @Test(arguments: [RetryPolicy(), .never])
    func `a lost part discards the bytes once, and then the file is one stream`(policy: RetryPolicy) {
        var harness = Self.divided(policy)
        for id in [2, 3] as [ExchangeID] { harness.head(206, harness.part(id, tag: Self.tag), of: id) }
        for id in [1, 2] as [ExchangeID] {
            harness.complete(id)
            harness.end(of: id)
        }
        harness.bytes(100_000, of: 3)
        harness.lose(3)
        for id in harness.machine.exchanges.requestIDs { harness.lose(id) }
        #expect(harness.log.last?.hasPrefix("restarted noValidator") == true, "\(harness.log)")
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": Self.tag])
        harness.bytes(1000)
        #expect(harness.running.count == 1, "each loss would discard the bytes again")
        harness.lose()
        #expect((policy == .never) == (harness.failure?.code == .connectionLost))
    }

    @Test func `a part that is refused at the end leads to one stream as well`() {
        var harness = Self.divided(.never)
        harness.head(206, harness.part(2, tag: Self.tag), of: 2)
        harness.head(206, harness.part(3, tag: Self.tag), of: 3)
        harness.complete(1)
        harness.end(of: 1)
        harness.bytes(100_000, of: 2)
        harness.lose(2)
        #expect(harness.machine.exchanges.hasRequests)
        for id in harness.machine.exchanges.requestIDs {
            harness.head(503, of: id)
            harness.end(.cancelled, of: id)
        }
        harness.complete(3)
        harness.end(of: 3)
        #expect(harness.log.last?.hasPrefix("restarted noValidator") == true, "\(harness.log)")
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": Self.tag])
        harness.bytes(1000)
        #expect(harness.running.count == 1)
    }

    @Test func `another weak tag is a difference`() {
        var harness = Self.divided()
        harness.forget()
        harness.head(206, harness.part(2, tag: "W/\"v2\""), of: 2)
        #expect(harness.done.prefix(2) == ["cancel 2", "cancel 3"])
        #expect(!harness.machine.bytes.reliesOnDigest)
    }

    @Test func `where gaps are filled with zeros, nothing is divided`() {
        var harness = StateMachineHarness.connecting { $0.connections = .fixed(4) }
        harness.allowsGaps = false
        harness.head(200, ["Content-Length": "\(16 * mebibyte)", "ETag": "\"v1\""])
        harness.bytes(1000)
        #expect(harness.running == [1])
    }
}
