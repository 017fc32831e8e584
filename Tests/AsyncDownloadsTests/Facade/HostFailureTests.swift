import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// Origins that can't be reached, or refuse requests, and the downloads that wait for them (rules 37 and 58).
@Suite(.endsWhenHung)
struct HostFailureTests {
    static let good = "https://good.example"
    static let bad = "https://bad.example"

    @Test func `all downloads of an origin that never answers fail after the retries of one`() async throws {
        try await SimulatedFixture.with(reply: { _, _ in
            .unreachable
        }) { fixture async throws in
            let requests = (0..<600).map { fixture.request("\(Self.bad)/\($0)") }
            let outcomes = Task {
                var outcomes: [BatchOutcome] = []
                for try await outcome in fixture.downloader.batch(requests) { outcomes.append(outcome) }
                return outcomes
            }
            // These downloads are outside the window of the batch.
            while fixture.downloader.liveTransfers.count < 600 { await Task.yield() }
            // The task may read the outcomes much later.
            await fixture.advance { fixture.downloader.liveTransfers.isEmpty }
            let errors = try await outcomes.value.map { $0.result.failure }
            #expect(errors.count == 600)
            #expect(errors.allSatisfy { $0?.code == .cannotConnect && $0?.isRetryable == true })
            // Six at first, and five retries.
            #expect(fixture.servers.requests.count <= 11, "\(fixture.servers.requests.count)")
            #expect(fixture.time.now <= .seconds(60))
        }
    }

    @Test func `files that need no request don't fail with the outage of their origin`() async throws {
        try await SimulatedFixture.with(reply: { _, _ in .unreachable }) { fixture async throws in
            let missing = (0..<6).map { fixture.start("\(Self.bad)/missing/\($0)") }
            let existing = try (0..<40).map { number in
                var request = fixture.request("\(Self.bad)/\(number)")
                guard case .file(let url) = request.destination else { preconditionFailure("a request for a file") }
                try Data([1]).write(to: url)
                if number.isMultiple(of: 2) {
                    request.checksum = .sha256("4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a")
                } else {
                    request.existingFilePolicy = .keep
                }
                return fixture.downloader.start(request)
            }
            await fixture.advance { (missing + existing).allSatisfy(\.state.isFinal) }
            #expect(missing.allSatisfy { $0.state == .failed })
            #expect(existing.allSatisfy { $0.state == .completed })
            #expect(fixture.servers.requests.allSatisfy { $0.path().hasPrefix("/missing/") })
        }
    }

    @Test func `connections that aren't established within the idle timeout are an outage, too`() async throws {
        try await SimulatedFixture.with(
            configure: { $0.idleTimeout = .seconds(5) },
            reply: { _, _ in .noConnection }
        ) { fixture async throws in
            let downloads = (0..<300).map { fixture.start("\(Self.bad)/\($0)") }
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            let errors = downloads.map { $0.snapshot.error }
            #expect(errors.allSatisfy { [.cannotConnect, .timedOut].contains($0?.code) && $0?.isRetryable == true })
            #expect(fixture.servers.requests.count <= 11, "\(fixture.servers.requests.count)")
            #expect(fixture.time.now <= .seconds(90), "\(fixture.time.now)")
        }
    }

    @Test func `downloads that are in line when an outage begins are notified of it`() async throws {
        let isReachable = Mutex(true)
        try await SimulatedFixture.with(reply: { _, _ in
            isReachable.withLock { $0 } ? .response(200) : .unreachable
        }) { fixture async throws in
            _ = try await fixture.start("\(Self.bad)/first").file
            isReachable.withLock { $0 = false }
            let downloads = (0..<40).map { fixture.start("\(Self.bad)/\($0)") }
            let notified = downloads.map { download in
                Task {
                    try await download.events.contains {
                        if case .waiting(let reason) = $0 { reason.name == "hostUnreachable" } else { false }
                    }
                }
            }
            // The first delay is shorter than a second.
            await fixture.advance { fixture.time.now >= .seconds(4) }
            isReachable.withLock { $0 = true }
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            var count = 0
            for task in notified where try await task.value { count += 1 }
            // Six had a permit when the outage began, and only learn of it after their own failure.
            #expect(count == 40, "\(count)")
        }
    }

    @Test func `an outage behind a redirect is waited for if the target has answered before`() async throws {
        let outage = Duration.seconds(1)..<Duration.seconds(26)
        try await SimulatedFixture.with(
            configure: { $0.retryPolicy.maximumRetries = 1 },
            reply: { url, now in
                if url.host() == "good.example" { return .response(302, ["Location": "\(Self.bad)\(url.path())"]) }
                return outage.contains(now) ? .unreachable : .response(200)
            }
        ) { fixture async throws in
            _ = try await fixture.start("\(Self.good)/first").file
            fixture.time.advance(by: .seconds(1))
            let downloads = (0..<20).map { fixture.start("\(Self.good)/\($0)") }
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            #expect(downloads.allSatisfy { $0.state == .completed })
            #expect(fixture.servers.requests.count <= 80, "\(fixture.servers.requests.count)")
        }
    }

    @Test func `downloads of an origin that has answered wait for its return, without retries`() async throws {
        let outage = Duration.seconds(1)..<Duration.seconds(26)
        try await SimulatedFixture.with(
            configure: { $0.retryPolicy.maximumRetries = 1 },
            reply: { _, now in
                outage.contains(now) ? .unreachable : .response(200)
            }
        ) { fixture async throws in
            _ = try await fixture.start("\(Self.bad)/first").file
            fixture.time.advance(by: .seconds(1))
            let downloads = (0..<40).map { fixture.start("\(Self.bad)/\($0)") }
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            #expect(downloads.allSatisfy { $0.state == .completed })
            #expect(fixture.time.now <= .seconds(32), "\(fixture.time.now)")
        }
    }

    @Test func `after the time of patience, all of them fail together`() async throws {
        try await SimulatedFixture.with(
            configure: { $0.hostPatience = .seconds(20) },
            reply: { _, now in
                now < .seconds(1) ? .response(200) : .unreachable
            }
        ) { fixture async throws in
            _ = try await fixture.start("\(Self.bad)/first").file
            fixture.time.advance(by: .seconds(1))
            let downloads = (0..<40).map { fixture.start("\(Self.bad)/\($0)") }
            // The outage begins with the first request that fails.
            await fixture.waitUntilIdle()
            fixture.time.advance(by: .seconds(10))
            #expect(!downloads.contains { $0.state.isFinal })
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            #expect(downloads.allSatisfy { $0.state == .failed })
            #expect(fixture.time.now >= .seconds(21) && fixture.time.now <= .seconds(23), "\(fixture.time.now)")
            #expect(fixture.servers.requests.count < 40)
        }
    }

    @Test func `a download without retries fails at once, and the others wait`() async throws {
        try await SimulatedFixture.with(reply: { _, now in
            now < .seconds(1) ? .response(200) : .unreachable
        }) { fixture async throws in
            _ = try await fixture.start("\(Self.bad)/first").file
            fixture.time.advance(by: .seconds(1))
            let patient = fixture.start("\(Self.bad)/patient")
            while patient.state != .waiting { await Task.yield() }
            var request = fixture.request("\(Self.bad)/hasty")
            request.retryPolicy = .never
            let error = await fixture.downloader.start(request).result.failure
            #expect(error?.code == .cannotConnect)
            #expect(fixture.time.now == .seconds(1))
            // It may have made the attempt.
            while patient.state != .waiting { await Task.yield() }
        }
    }

    @Test func `a site that redirects to another unreachable port each time is requested a limited number of times`()
        async throws
    {
        let port = Mutex(1)
        try await SimulatedFixture.with(reply: { url, _ in
            guard url.host() == "good.example" else { return .unreachable }
            return .response(
                302, ["Location": "https://bad.example:\(port.withLock { port in port += 1; return port })/"])
        }) { fixture async throws in
            let download = fixture.start("\(Self.good)/a")
            await fixture.advance { download.state.isFinal }
            #expect(await download.result.failure?.code == .cannotConnect)
            #expect(fixture.servers.requests.count == 12)
        }
    }

    @Test func `origins that answer once, to which a site redirects in turn, are requested a limited number of times`()
        async throws
    {
        let port = Mutex(1)
        try await SimulatedFixture.with(reply: { url, _ in
            if url.path() == "/last" { return .unreachable }
            if url.host() == "bad.example" { return .response(302, ["Location": "/last"]) }
            return .response(
                302, ["Location": "https://bad.example:\(port.withLock { port in port += 1; return port })/first"])
        }) { fixture async throws in
            let download = fixture.start("\(Self.good)/a")
            await fixture.advance { download.state.isFinal || fixture.servers.requests.count > 100 }
            #expect(await download.result.failure?.code == .cannotConnect)
            // Seven attempts with three requests: the first one, one that uses no retry, and five retries.
            #expect(fixture.servers.requests.count == 21)
        }
    }

    @Test func `a download whose URL is replaced doesn't wait for the host before`() async throws {
        try await SimulatedFixture.with(reply: { url, now in
            now < .seconds(1) || url.host() == "good.example" ? .response(200) : .unreachable
        }) { fixture async throws in
            _ = try await fixture.start("\(Self.bad)/first").file
            fixture.time.advance(by: .seconds(1))
            let download = fixture.start("\(Self.bad)/file")
            while download.state != .waiting { await Task.yield() }
            try download.replaceURL(with: FreshURL(#require(URL(string: "\(Self.good)/file"))))
            _ = try await download.file
            #expect(fixture.time.now == .seconds(1))
        }
    }

    @Test func `a deadline and a pause end the wait of a download`() async throws {
        try await SimulatedFixture.with(reply: { _, now in
            now < .seconds(1) ? .response(200) : .unreachable
        }) { fixture async throws in
            _ = try await fixture.start("\(Self.bad)/first").file
            fixture.time.advance(by: .seconds(1))
            let paused = fixture.start("\(Self.bad)/paused")
            while paused.state != .waiting { await Task.yield() }
            paused.pause()
            while paused.state != .paused { await Task.yield() }
            var request = fixture.request("\(Self.bad)/late")
            request.deadline = .seconds(10)
            let late = fixture.downloader.start(request)
            while late.state != .waiting { await Task.yield() }
            fixture.time.advance(by: .seconds(10))
            #expect(await late.result.failure?.code == .deadlineExceeded)
            await fixture.advance { fixture.time.now > .seconds(60) }
            #expect(paused.state == .paused)
        }
    }

    @Test func `a download that waits says why, and until when`() async throws {
        try await SimulatedFixture.with(reply: { url, now in
            if now < .seconds(1) { return .response(200) }
            return url.host() == "bad.example" ? .unreachable : .response(429, ["Retry-After": "60"])
        }) { fixture async throws in
            for host in [Self.bad, Self.good] {
                _ = try await fixture.start("\(host)/first").file
            }
            fixture.time.advance(by: .seconds(1))
            for (host, name) in [(Self.bad, "hostUnreachable"), (Self.good, "coolDown")] {
                let first = fixture.start("\(host)/a")
                while first.state != .waiting, first.state != .retrying { await Task.yield() }
                let events = fixture.start("\(host)/b").events
                let reason = try await events.first {
                    if case .waiting(let reason) = $0 { reason != .turn } else { false }
                }
                guard case .waiting(let reason)? = reason else { continue }
                #expect(reason.name == name)
                let end = try #require(reason.end)
                #expect(end.timeIntervalSince1970 >= Double(fixture.time.date.secondsSinceEpoch))
                if name == "coolDown" {
                    #expect(end.timeIntervalSince1970 == Double(fixture.time.date.secondsSinceEpoch + 60))
                }
            }
        }
    }
}
