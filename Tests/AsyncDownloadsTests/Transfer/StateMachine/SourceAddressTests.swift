internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct SourceAddressTests {
    private static let url = URL.sample("https://a.example/file")
    private static let other = SourceAddress.Replacement(url: .sample("https://b.example/file"))

    private func address() -> SourceAddress { SourceAddress(url: Self.url, headers: ["X": "secret"]) }

    @Test func `a replacement requires verification until it has answered`() {
        var address = address()
        #expect(!address.requiresVerification)
        address.replace(by: Self.other)
        #expect(address.requiresVerification && address.origins.host == "b.example")
        address.comparisonAnswered()
        #expect(address.requiresVerification)
        address.answered()
        #expect(!address.requiresVerification)
    }

    @Test func `a replacement without headers keeps the present ones and gets no secrets`() {
        var address = address()
        address.replace(by: Self.other)
        #expect(address.headers.fields["X"] == "secret")
        #expect(address.redirects.headers(address.headers, adding: [:])["X"] == nil)
    }

    @Test func `a known URL is offered once, unless its headers are new`() {
        var address = address()
        address.offer(.init(url: Self.url))
        #expect(address.takeOffer() == nil)
        address.offer(.init(url: Self.url, headers: ["X": "newer"]))
        #expect(address.takeOffer()?.headers?.fields["X"] == "newer")
        address.offer(Self.other)
        #expect(address.takeOffer() == Self.other)
        #expect(address.takeOffer() == nil)
        address.offer(Self.other)
        #expect(address.takeOffer() == nil)
    }

    @Test func `the order of headers does not make them new`() {
        var address = SourceAddress(url: Self.url, headers: ["A": "1", "B": "2"])
        address.offer(.init(url: Self.url, headers: ["B": "2", "A": "1"]))
        #expect(address.takeOffer() == nil)
    }

    @Test func `the number of remembered URLs is bounded`() throws {
        var address = address()
        for number in 0..<1000 {
            address.replace(by: .init(url: try #require(URL(string: "https://a.example/\(number)"))))
        }
        // The first one was forgotten, so that it may be offered again.
        address.offer(.init(url: try #require(URL(string: "https://a.example/0"))))
        #expect(address.takeOffer() != nil)
    }

    @Test(arguments: [(401, true), (403, true), (410, true), (404, false), (500, false)])
    func `only the refusal of a fresh URL leads to no other one`(_ status: Int, _ isExpected: Bool) {
        let code = StatusCode(status)
        var address = address()
        #expect(address.canRefresh(after: code) == isExpected)
        address.refreshed(at: .zero)
        address.willRequest(at: .zero, freshFor: .seconds(2))
        #expect(!address.canRefresh(after: code))
        // A lost connection or an answer is between the refresh and the refusal.
        address.attemptEnded()
        #expect(address.canRefresh(after: code) == isExpected)
        address.refreshed(at: .zero)
        address.willRequest(at: .zero, freshFor: .seconds(2))
        address.answered()
        #expect(address.canRefresh(after: code) == isExpected)
        // A failure before the first request is no evidence about the URL.
        address.refreshed(at: .zero)
        address.attemptEnded()
        #expect(!address.canRefresh(after: code))
        // A request that has to wait for its host was not sent.
        address.willRequest(at: .seconds(1), freshFor: .seconds(2))
        address.targetWaits()
        address.willRequest(at: .seconds(9), freshFor: .seconds(2))
        #expect(address.canRefresh(after: code) == isExpected)
        // A URL that a subscriber supplies may be refreshed.
        address.replace(by: .init(url: Self.url))
        #expect(address.canRefresh(after: code) == isExpected)
    }

    @Test func `refreshes without new bytes come to an end`() {
        var address = address()
        for _ in 0..<10 {
            #expect(address.canRefresh(after: StatusCode(403)))
            address.refreshed(at: .zero)
            address.accepted()
        }
        #expect(!address.canRefresh(after: StatusCode(403)))
        address.answered()
        #expect(address.canRefresh(after: StatusCode(403)))
    }

    @Test func `a URL that has expired on arrival is used`() {
        var address = address()
        address.expire(at: .seconds(5))
        #expect(!address.hasExpired(at: .seconds(4)) && address.hasExpired(at: .seconds(5)))
        address.refreshed(at: .seconds(6))
        #expect(!address.hasExpired(at: .seconds(6)))
    }

    @Test func `a fresh URL that has waited for a permit may be refreshed again`() {
        var address = address()
        address.refreshed(at: .zero)
        address.willRequest(at: .seconds(1), freshFor: .seconds(2))
        #expect(!address.canRefresh(after: StatusCode(403)))
        address.refreshed(at: .seconds(1))
        address.willRequest(at: .seconds(4), freshFor: .seconds(2))
        #expect(address.canRefresh(after: StatusCode(403)))
    }

    @Test func `only a target that has answered or waited leads back to the original URL`() {
        var address = address()
        #expect(address.follow("/signed") == nil)
        #expect(address.returnToOrigin(after: StatusCode(403), hasBytes: true) == false)
        address.answered()
        #expect(address.returnToOrigin(after: StatusCode(403), hasBytes: false) == false)
        #expect(address.returnToOrigin(after: StatusCode(403), hasBytes: true) == true)
        #expect(address.url == Self.url)
        #expect(address.follow("https://cdn.example/signed") == nil)
        address.targetWaits()
        #expect(address.returnToOrigin(after: StatusCode(404), hasBytes: false) == true)
    }

    @Test func `a target of another origin that refuses its first request leads back twice`() {
        var address = address()
        for attempt in 0..<4 {
            #expect(address.follow("https://cdn.example/signed") == nil)
            for status in [401, 404, 410] {
                #expect(address.returnToOrigin(after: StatusCode(status), hasBytes: true) == false)
            }
            #expect(address.returnToOrigin(after: StatusCode(403), hasBytes: attempt == 1) == (attempt < 2))
            address.reset()
        }
    }
}
