import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// Refusals that concern one port, one redirect, one resource, or the origin (rule 37).
extension HostFailureTests {
    @Test func `rule 37: a refusal by one port of a host doesn't stop another one`() async throws {
        try await SimulatedFixture.with(reply: { url, _ in
            url.port == 8080 ? .response(429, ["Retry-After": "60"]) : .response(200)
        }) { fixture async throws in
            let refused = fixture.start("\(Self.good):8080/a")
            while refused.state != .retrying { await Task.yield() }
            for number in 0..<20 { _ = try await fixture.start("\(Self.good)/\(number)").file }
        }
    }

    @Test func `rule 37: a refusal behind a redirect from another origin stops those redirects only`() async throws {
        try await SimulatedFixture.with(reply: { url, _ in
            if url.host() == "bad.example" { return .response(302, ["Location": "\(Self.good)/limited"]) }
            return url.path() == "/limited" ? .response(429, ["Retry-After": "60"]) : .response(200)
        }) { fixture async throws in
            let refused = fixture.start("\(Self.bad)/a")
            while refused.state != .retrying { await Task.yield() }
            for number in 0..<20 { _ = try await fixture.start("\(Self.good)/\(number)").file }
            // Another redirect waits.
            let count = fixture.servers.requests.count { $0.path() == "/limited" }
            let held = fixture.start("\(Self.bad)/b")
            while held.state != .waiting { await Task.yield() }
            #expect(fixture.servers.requests.count { $0.path() == "/limited" } == count)
        }
    }

    @Test func `rule 37: a resource that is always refused doesn't stop the others`() async throws {
        try await SimulatedFixture.with(reply: { url, _ in
            url.path() == "/bad" ? .response(503, ["Retry-After": "30"]) : .response(200)
        }) { fixture async throws in
            let refused = fixture.start("\(Self.good)/bad")
            while refused.state != .retrying { await Task.yield() }
            let downloads = (0..<60).map { fixture.start("\(Self.good)/\($0)") }
            // The clock stands still.
            for download in downloads { _ = try await download.file }
            // Neither a pause nor another destination repeats the request before its time.
            refused.pause()
            while refused.state != .paused { await Task.yield() }
            refused.resume()
            while refused.state != .waiting { await Task.yield() }
            #expect(fixture.servers.requests.count { $0.path() == "/bad" } == 1)
            fixture.time.advance(by: .seconds(30))
            while fixture.servers.requests.count(where: { $0.path() == "/bad" }) < 2 { await Task.yield() }
        }
    }

    @Test func `rule 37: a server that refuses everything with 503 is asked once more`() async throws {
        try await SimulatedFixture.with(reply: { _, now in
            now < .seconds(30) ? .response(503, ["Retry-After": "30"]) : .response(200)
        }) { fixture async throws in
            let downloads = (0..<60).map { fixture.start("\(Self.good)/\($0)") }
            while downloads.count(where: { $0.state == .retrying }) < 2 { await Task.yield() }
            await fixture.waitUntilIdle()
            #expect(fixture.servers.requests.count <= 7, "\(fixture.servers.requests.count)")
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            #expect(downloads.allSatisfy { $0.state == .completed })
        }
    }

    @Test func `rule 37: a server that redirects to its own refusals is asked a few times`() async throws {
        try await SimulatedFixture.with(reply: { url, now in
            if url.path().hasPrefix("/d/") { return .response(302, ["Location": "/f\(url.path())"]) }
            return now < .seconds(30) ? .response(503, ["Retry-After": "30"]) : .response(200)
        }) { fixture async throws in
            let downloads = (0..<60).map { fixture.start("\(Self.good)/d/\($0)") }
            while downloads.count(where: { $0.state == .retrying }) < 2 { await Task.yield() }
            await fixture.waitUntilIdle()
            #expect(fixture.servers.requests.count <= 14, "\(fixture.servers.requests.count)")
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            #expect(downloads.allSatisfy { $0.state == .completed })
        }
    }

    @Test func `rule 37: a response that announces no more requests is respected`() async throws {
        let count = Mutex(0)
        try await SimulatedFixture.with(
            configure: { $0.maximumConcurrentTransfersPerHost = 1 },
            reply: { _, now in
                let index = count.withLock { count in
                    defer { count += 1 }
                    return count
                }
                if now >= .seconds(20) { return .response(200) }
                return index < 5 ? .response(200, ["RateLimit": "\"a\";r=\(4 - index);t=20"]) : .response(429)
            }
        ) { fixture async throws in
            let downloads = (0..<20).map { fixture.start("\(Self.good)/\($0)") }
            while downloads.count(where: \.state.isFinal) < 5 { await Task.yield() }
            await fixture.waitUntilIdle()
            #expect(fixture.servers.requests.count == 5)
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            #expect(downloads.allSatisfy { $0.state == .completed })
            #expect(fixture.servers.requests.count == 20)
        }
    }
}
