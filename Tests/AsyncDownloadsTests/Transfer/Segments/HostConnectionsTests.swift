internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("HostConnections", .endsWhenHung)
struct HostConnectionsTests {
    private func origin(_ number: Int = 0) throws -> Origin {
        let url = try #require(URL(string: "https://host\(number).example/"))
        return try #require(Origin(url))
    }

    @Test func `the cool-down doubles until a connection is accepted`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        let refusal = HostObservation(isRefused: true)
        var now = Duration.zero
        for seconds in [30, 60, 120, 240, 480, 600, 600] {
            hosts.record(refusal, about: origin, at: now)
            #expect(!hosts.mayRequest(origin, at: now + .seconds(seconds) - .milliseconds(1)))
            now += .seconds(seconds)
            #expect(hosts.mayRequest(origin, at: now))
        }
        hosts.record(HostObservation(hasAccepted: true), about: origin, at: now)
        hosts.record(refusal, about: origin, at: now)
        #expect(hosts.mayRequest(origin, at: now + .seconds(30)))
    }

    @Test func `a host that asks to wait is waited for`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        hosts.record(
            HostObservation(isRefused: true, retryAfter: .seconds(5), hasAccepted: true), about: origin, at: .zero)
        #expect(!hosts.mayRequest(origin, at: .seconds(4)))
        #expect(hosts.mayRequest(origin, at: .seconds(5)))
        hosts.record(HostObservation(isRefused: true, retryAfter: .seconds(86_400)), about: origin, at: .seconds(5))
        #expect(hosts.mayRequest(origin, at: .seconds(605)), "a day would be too long")
    }

    @Test func `a host that asks to wait again and again is asked less and less often`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        var now = Duration.zero
        for seconds in [5, 30, 60, 120, 240, 480, 600, 600] {
            hosts.record(HostObservation(isRefused: true, retryAfter: .seconds(5)), about: origin, at: now)
            #expect(!hosts.mayRequest(origin, at: now + .seconds(seconds) - .milliseconds(1)))
            now += .seconds(seconds)
            #expect(hosts.mayRequest(origin, at: now))
        }
    }

    @Test func `a ceiling recovers by one connection every ten minutes`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        hosts.record(HostObservation(ceiling: 3), about: origin, at: .zero)
        #expect(hosts.limit(of: origin, at: .seconds(599)) == 3)
        #expect(hosts.limit(of: origin, at: .seconds(600)) == 4)
        #expect(hosts.limit(of: origin, at: .seconds(100_000)) == 16)
    }

    @Test func `what one host has shown says nothing about another`() throws {
        var hosts = HostConnections()
        let (first, second) = (try origin(1), try origin(2))
        hosts.record(HostObservation(worthwhileCount: 6, ignoresRanges: true), about: first, at: .zero)
        #expect(hosts.ignoresRanges(first, at: .zero) && !hosts.ignoresRanges(second, at: .zero))
        #expect(hosts.worthwhileCount(first) == 6 && hosts.worthwhileCount(second) == 1)
    }

    @Test func `a host that has ignored a range is tried again after ten minutes`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        hosts.record(HostObservation(ignoresRanges: true), about: origin, at: .seconds(5))
        #expect(hosts.ignoresRanges(origin, at: .seconds(604)) && !hosts.ignoresRanges(origin, at: .seconds(605)))
    }

    @Test func `a reservation limits the host for a minute, in which it isn't reduced further`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        hosts.reserve(origin, of: 8, at: .zero)
        hosts.reserve(origin, of: 4, at: .seconds(59))
        #expect(hosts.limit(of: origin, at: .seconds(59)) == 8 && hosts.isReserved(origin, at: .seconds(59)))
        #expect(hosts.limit(of: origin, at: .seconds(60)) == 16 && !hosts.isReserved(origin, at: .seconds(60)))
        hosts.record(HostObservation(ceiling: 6), about: origin, at: .seconds(60))
        hosts.reserve(origin, of: 12, at: .seconds(60))
        #expect(hosts.limit(of: origin, at: .seconds(60)) == 6, "it never raises the limit")
    }

    @Test func `256 hosts are remembered`() throws {
        var hosts = HostConnections()
        for number in 0..<300 {
            hosts.record(HostObservation(worthwhileCount: 4), about: try origin(number), at: .seconds(number))
        }
        #expect(hosts.worthwhileCount(try origin(43)) == 1)
        #expect(hosts.worthwhileCount(try origin(44)) == 4)
        #expect(hosts.worthwhileCount(try origin(299)) == 4)
    }
}
