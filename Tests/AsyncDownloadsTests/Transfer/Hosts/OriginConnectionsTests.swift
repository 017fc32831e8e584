internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("OriginConnections", .endsWhenHung)
struct OriginConnectionsTests {
    @Test func `the cool-down doubles until a connection is accepted`() {
        var connections = OriginConnections()
        let refusal = HostObservation(isRefused: true)
        var now = Duration.zero
        for seconds in [30, 60, 120, 240, 480, 600, 600] {
            connections.record(refusal, at: now)
            #expect(!connections.mayGrow(at: now + .seconds(seconds) - .milliseconds(1)))
            now += .seconds(seconds)
            #expect(connections.mayGrow(at: now))
        }
        connections.record(HostObservation(hasAccepted: true), at: now)
        connections.record(refusal, at: now)
        #expect(connections.mayGrow(at: now + .seconds(30)))
    }

    @Test func `an origin that asks to wait is waited for`() {
        var connections = OriginConnections()
        connections.record(HostObservation(isRefused: true, retryAfter: .seconds(5), hasAccepted: true), at: .zero)
        #expect(!connections.mayGrow(at: .seconds(4)))
        #expect(connections.mayGrow(at: .seconds(5)))
        connections.record(HostObservation(isRefused: true, retryAfter: .seconds(86_400)), at: .seconds(5))
        #expect(connections.mayGrow(at: .seconds(605)), "a day would be too long")
    }

    @Test func `an origin that asks to wait again and again is asked less and less often`() {
        var connections = OriginConnections()
        var now = Duration.zero
        for seconds in [5, 30, 60, 120, 240, 480, 600, 600] {
            connections.record(HostObservation(isRefused: true, retryAfter: .seconds(5)), at: now)
            #expect(!connections.mayGrow(at: now + .seconds(seconds) - .milliseconds(1)))
            now += .seconds(seconds)
            #expect(connections.mayGrow(at: now))
        }
    }

    @Test func `a ceiling recovers by one connection every ten minutes`() {
        var connections = OriginConnections()
        connections.record(HostObservation(ceiling: 3), at: .zero)
        #expect(connections.limit(at: .seconds(599)) == 3)
        #expect(connections.limit(at: .seconds(600)) == 4)
        #expect(connections.limit(at: .seconds(100_000)) == 16)
    }

    @Test func `an origin that has ignored a range is tried again after ten minutes`() {
        var connections = OriginConnections()
        connections.record(HostObservation(ignoresRanges: true), at: .seconds(5))
        #expect(!connections.mayGrow(at: .seconds(604)))
        #expect(connections.mayGrow(at: .seconds(605)))
    }

    @Test func `a reservation applies for a minute, in which it isn't reduced further`() {
        var connections = OriginConnections()
        connections.reserve(8, at: .zero)
        connections.reserve(4, at: .seconds(59))
        #expect(connections.limit(at: .seconds(59)) == 8 && connections.isReserved(at: .seconds(59)))
        #expect(connections.limit(at: .seconds(60)) == 16 && !connections.isReserved(at: .seconds(60)))
        connections.record(HostObservation(ceiling: 6), at: .seconds(60))
        connections.reserve(12, at: .seconds(60))
        #expect(connections.limit(at: .seconds(60)) == 6, "it never raises the limit")
    }

    @Test func `what an origin has shown outlasts its requests, and says nothing about other origins`() throws {
        let urls = ["https://a.example", "https://a.example:8443", "http://a.example", "https://b.example"]
        let origins = try urls.map { try #require(URL(string: $0).flatMap(Origin.init)) }
        var table = HostTable(HostLimit.Settings())
        let slot = table.slot(of: OriginPair(host: "a.example"), at: .zero)
        table.updateConnections(of: origins[0], at: .zero) { $0.record(HostObservation(effectiveCount: 6), at: .zero) }
        #expect(origins.map { table.connections(of: $0).effectiveCount } == [6, 1, 1, 1])
        table.answered(slot, isAccepted: true)
        table.removeIfIdle(slot, at: .zero)
        #expect(origins.map { table.connections(of: $0).effectiveCount } == [6, 1, 1, 1])
        // Bodies may come from hosts without permits. Most of what is known about idle hosts is forgotten meanwhile.
        for hour in 1...3 {
            table.updateConnections(of: origins[3], at: .seconds(3600 * hour)) { connections in
                connections.record(HostObservation(effectiveCount: hour), at: .seconds(3600 * hour))
            }
        }
        #expect(origins.map { table.connections(of: $0).effectiveCount } == [6, 1, 1, 3])
        let later = table.slot(of: OriginPair(host: "a.example"), at: .seconds(20_000))
        #expect(table.origin(later).state.hasAnswered)
        #expect(table.connections(of: origins[0]).effectiveCount == 6)
    }

    @Test func `what is assumed anyway isn't kept`() {
        var connections = OriginConnections()
        #expect(connections.isEmpty)
        connections.record(HostObservation(effectiveCount: 1, hasAccepted: true), at: .seconds(1))
        #expect(connections.isEmpty)
        for observation in [
            HostObservation(ceiling: 2), .init(effectiveCount: 2), .init(ignoresRanges: true),
            .init(isRefused: true),
        ] {
            var connections = OriginConnections()
            connections.record(observation, at: .seconds(1))
            #expect(!connections.isEmpty)
        }
        connections.reserve(4, at: .zero)
        #expect(!connections.isEmpty)
    }

    @Test func `what at most 16 ports of a host have shown is kept`() throws {
        var table = HostTable(HostLimit.Settings())
        let origins = try (1...100).map { port in
            try #require(URL(string: "https://a.example:\(port)").flatMap(Origin.init))
        }
        for origin in origins {
            table.updateConnections(of: origin, at: .zero) { $0.record(HostObservation(effectiveCount: 4), at: .zero) }
        }
        #expect(origins.count { table.connections(of: $0).effectiveCount == 4 } == 16)
        // What is assumed anyway replaces nothing.
        for origin in origins where table.connections(of: origin).isEmpty {
            table.updateConnections(of: origin, at: .zero) { $0.record(HostObservation(hasAccepted: true), at: .zero) }
        }
        #expect(origins.count { table.connections(of: $0).effectiveCount == 4 } == 16)
    }
}
