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

    /// Requests leases until none is granted.
    private func leases(
        _ hosts: inout HostConnections, _ origin: Origin, from count: Int = 1, at now: Duration
    ) -> [LeaseID] {
        var leases: [LeaseID] = []
        while let lease = hosts.lease(origin, count: count + leases.count, isTransferWaiting: false, at: now) {
            leases.append(lease)
        }
        return leases
    }

    @Test func `one file gets all connections of its host`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        _ = hosts.transferStarted(origin, at: .zero)
        #expect(leases(&hosts, origin, at: .zero).count == 15)
    }

    @Test func `files share the connections of their host, and not those of others`() throws {
        var hosts = HostConnections()
        let (first, second) = (try origin(1), try origin(2))
        for _ in 0..<3 { _ = hosts.transferStarted(first, at: .zero) }
        _ = hosts.transferStarted(second, at: .zero)
        #expect(leases(&hosts, first, at: .zero).count == 4)
        #expect(leases(&hosts, second, at: .zero).count == 15)
        hosts.transferEnded(first, at: .zero)
        #expect(hosts.share(of: first, at: .zero) == 8)
    }

    @Test func `a file that starts revokes the newest leases`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        _ = hosts.transferStarted(origin, at: .zero)
        let granted = leases(&hosts, origin, at: .zero)
        #expect(hosts.transferStarted(origin, at: .zero) == [granted[14]])
        #expect(hosts.transferStarted(origin, at: .zero) == [granted[13]])
        hosts.release(granted[14], at: .zero)
        hosts.release(granted[0], at: .zero)
        #expect(hosts.transferStarted(origin, at: .zero) == [])
    }

    @Test func `no lease is granted while a file waits or the host cools down`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        _ = hosts.transferStarted(origin, at: .zero)
        #expect(hosts.lease(origin, count: 1, isTransferWaiting: true, at: .zero) == nil)
        hosts.refused(origin, retryAfter: .seconds(5), at: .zero)
        #expect(hosts.lease(origin, count: 1, isTransferWaiting: false, at: .seconds(4)) == nil)
        #expect(hosts.lease(origin, count: 1, isTransferWaiting: false, at: .seconds(5)) != nil)
    }

    @Test func `the cool-down doubles until a connection is accepted`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        var now = Duration.zero
        for seconds in [30, 60, 120, 240, 480, 600, 600] {
            hosts.refused(origin, retryAfter: nil, at: now)
            #expect(!hosts.mayRequest(origin, at: now + .seconds(seconds) - .milliseconds(1)))
            now += .seconds(seconds)
            #expect(hosts.mayRequest(origin, at: now))
        }
        hosts.accepted(origin, at: now)
        hosts.refused(origin, retryAfter: nil, at: now)
        #expect(hosts.mayRequest(origin, at: now + .seconds(30)))
    }

    @Test func `a ceiling recovers by one connection every ten minutes`() throws {
        var hosts = HostConnections()
        let origin = try origin()
        _ = hosts.transferStarted(origin, at: .zero)
        hosts.setCeiling(3, of: origin, at: .zero)
        #expect(leases(&hosts, origin, at: .zero).count == 2)
        #expect(hosts.share(of: origin, at: .seconds(599)) == 3)
        #expect(hosts.share(of: origin, at: .seconds(600)) == 4)
        #expect(hosts.share(of: origin, at: .seconds(100_000)) == 16)
    }

    @Test func `what a host has shown ends further connections with it`() throws {
        var hosts = HostConnections()
        let (first, second, third) = (try origin(1), try origin(2), try origin(3))
        hosts.setIgnoresRanges(first, at: .zero)
        hosts.setInconsistentValidators(second, at: .zero)
        #expect(!hosts.mayRequest(first, at: .seconds(9999)) && !hosts.mayRequest(second, at: .seconds(9999)))
        #expect(hosts.mayRequest(third, at: .zero))
        hosts.setWorthwhile(6, of: third, at: .zero)
        #expect(hosts.worthwhile(third) == 6 && hosts.worthwhile(first) == 1)
    }

    @Test func `256 hosts are remembered, and those with connections longer`() throws {
        var hosts = HostConnections()
        _ = hosts.transferStarted(try origin(0), at: .zero)
        for number in 0..<300 { hosts.setWorthwhile(4, of: try origin(number), at: .seconds(number)) }
        #expect(hosts.worthwhile(try origin(0)) == 4, "it has a running file")
        #expect(hosts.worthwhile(try origin(44)) == 1)
        #expect(hosts.worthwhile(try origin(45)) == 4)
        #expect(hosts.worthwhile(try origin(299)) == 4)
    }
}
