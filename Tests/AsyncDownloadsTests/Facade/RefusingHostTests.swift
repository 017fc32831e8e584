import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// Hosts that refuse requests, or fail to handle them, without a stated time (rules 37 and 58).
@Suite(.endsWhenHung)
struct RefusingHostTests {
    private static let host = "https://host.example"

    /// Downloads this many files, and returns the number of those that were completed.
    ///
    /// - Parameter step: The time by which the clock advances at once.
    private func download(
        _ count: Int, _ fixture: SimulatedFixture, advancingBy step: Duration = .seconds(1)
    ) async -> Int {
        let downloads = (0..<count).map { fixture.start("\(Self.host)/\($0)") }
        await fixture.advance(by: step) { downloads.allSatisfy(\.state.isFinal) }
        return downloads.count { $0.state == .completed }
    }

    /// Calls `body` with a host that has accepted a request, and answers others with the status from now on, until the
    /// end.
    private func withHost(
        failingWith status: Int, until end: Duration, _ body: (SimulatedFixture) async throws -> Void
    ) async throws {
        let outage = Duration.seconds(1)..<end
        try await SimulatedFixture.with(reply: { _, now in
            outage.contains(now) ? .response(status) : .response(200)
        }) { fixture async throws in
            _ = try await fixture.start("\(Self.host)/first").file
            fixture.time.advance(by: .seconds(1))
            try await body(fixture)
        }
    }

    @Test(arguments: [429, 502, 503], [20, 100])
    func `a host that fails for a while loses no file, and gets few requests`(
        _ status: Int, seconds: Int
    ) async throws {
        try await withHost(failingWith: status, until: .seconds(seconds + 1)) { fixture in
            #expect(await download(500, fixture) == 500)
            // Those at the beginning, a few after each cool-down, and one for each file.
            #expect(fixture.servers.requests.count <= 700, "\(fixture.servers.requests.count)")
            #expect(fixture.time.now <= .seconds(2 * seconds + 40), "\(fixture.time.now)")
        }
    }

    @Test(arguments: [502, 503])
    func `few files of a host that fails for a while don't use up their retries`(_ status: Int) async throws {
        // The delays of five retries take at most 31 seconds.
        try await withHost(failingWith: status, until: .seconds(35)) { fixture in
            #expect(await download(10, fixture, advancingBy: .milliseconds(250)) == 10)
            // No file waits for a delay of its own when the host accepts requests again.
            #expect(fixture.time.now <= .seconds(37), "\(fixture.time.now)")
        }
    }

    @Test func `the error of a deadline that passes while a host fails contains the failure`() async throws {
        try await withHost(failingWith: 503, until: .seconds(100)) { fixture in
            let downloads = (0..<10).map { number in
                var request = fixture.request("\(Self.host)/\(number)")
                request.deadline = .seconds(20)
                return fixture.downloader.start(request)
            }
            await fixture.advance(by: .milliseconds(250)) { downloads.allSatisfy(\.state.isFinal) }
            for download in downloads {
                let error = await download.failure
                #expect(error?.code == .deadlineExceeded)
                #expect((error?.underlyingError as? DownloadError)?.statusCode == 503)
            }
        }
    }

    @Test(arguments: [429, 503], [1000, 2000, 5000])
    func `a host that accepts one request at a time, in regular intervals, refuses no file often`(
        _ status: Int, milliseconds: Int
    ) async throws {
        let nextTime = Mutex(Duration.zero)
        try await SimulatedFixture.with(reply: { _, now in
            nextTime.withLock { time in
                guard now >= time else { return .response(status) }
                time = now + .milliseconds(milliseconds)
                return .response(200)
            }
        }) { fixture async throws in
            #expect(await download(60, fixture, advancingBy: .milliseconds(250)) == 60)
            #expect(fixture.servers.requests.count <= 60 * 4, "\(fixture.servers.requests.count)")
            #expect(fixture.time.now <= .milliseconds(milliseconds) * 66, "\(fixture.time.now)")
        }
    }

    @Test(arguments: [429, 500, 503])
    func `a host that fails to handle the first request for each file is used`(_ status: Int) async throws {
        let requested = Mutex<Set<URL>>([])
        try await SimulatedFixture.with(reply: { url, _ in
            requested.withLock { $0.insert(url).inserted } ? .response(status) : .response(200)
        }) { fixture async throws in
            #expect(await download(60, fixture, advancingBy: .milliseconds(250)) == 60)
            #expect(fixture.servers.requests.count == 120)
            #expect(fixture.time.now <= .seconds(40), "\(fixture.time.now)")
        }
    }

    @Test(arguments: [429, 500, 503])
    func `a host that fails to handle a tenth of the requests is used without delay`(_ status: Int) async throws {
        let count = Mutex(0)
        try await SimulatedFixture.with(reply: { _, _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .response(number.isMultiple(of: 10) ? status : 200)
        }) { fixture async throws in
            #expect(await download(500, fixture) == 500)
            #expect(fixture.time.now <= .seconds(10), "\(fixture.time.now)")
        }
    }

    @Test(arguments: [429, 500, 503], [1, 7, 120])
    func `files that are always refused hardly delay the others`(_ status: Int, count: Int) async throws {
        try await SimulatedFixture.with(reply: { url, _ in
            .response(Int(url.lastPathComponent) ?? 0 < count ? status : 200)
        }) { fixture async throws in
            let downloads = (0..<200).map { fixture.start("\(Self.host)/\($0)") }
            await fixture.advance(by: .milliseconds(250)) { downloads.dropFirst(count).allSatisfy(\.state.isFinal) }
            #expect(fixture.time.now <= .seconds(count < 8 ? 2 : count / 2), "\(fixture.time.now)")
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            #expect(downloads.prefix(count).allSatisfy { $0.state == .failed })
            #expect(downloads.dropFirst(count).allSatisfy { $0.state == .completed })
        }
    }

    @Test(arguments: [429, 502, 503])
    func `the files of a host that always fails end after a while`(_ status: Int) async throws {
        try await SimulatedFixture.with(reply: { _, _ in
            .response(status)
        }) { fixture async throws in
            let downloads = (0..<500).map { fixture.start("\(Self.host)/\($0)") }
            await fixture.advance { downloads.count(where: \.state.isFinal) >= 400 }
            #expect(fixture.time.now <= .seconds(70), "\(fixture.time.now)")
            await fixture.advance { downloads.allSatisfy(\.state.isFinal) }
            for download in downloads {
                let error = await download.failure
                #expect(error?.code == .httpStatus && error?.statusCode == status && error?.isRetryable == true)
            }
            #expect(fixture.servers.requests.count <= 500, "\(fixture.servers.requests.count)")
            #expect(fixture.time.now <= .seconds(900), "\(fixture.time.now)")
        }
    }
}
