import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Temporary failures with a real server and a clock that the test moves (rules 36, 37, and 59).
@Suite(.endsWhenHung)
struct RetryTests {
    private let content = Content(seed: 5, length: 200_000)

    @Test(arguments: Engine.allCases, [true, false])
    func `rule 58: a request that is refused because another file has several connections is repeated`(
        _ engine: Engine, isShared: Bool
    ) async throws {
        let steps: [Step] = [
            [.status(503)], [.status(429)], [.retryAfter("0")], [.retryAfter("soon")], [.closeBeforeHead(.reset)],
        ]
        for step in steps {
            let time = ManualTimeSource()
            let configure: (inout Downloader.Configuration) -> Void = {
                $0.retryPolicy = .never
                // Otherwise, the timer of the first measurement of the rate has the same delay.
                $0.maximumConnectionsPerTransfer = 1
            }
            try await TestEnvironment.with(engine, time: time, configure: configure) { environment async throws in
                environment.server.serve(Resource(content, script: [step]), at: "/one")
                if isShared {
                    let report = ConnectionReport(
                        origin: try #require(Origin(environment.server.url("/"))), number: 8, acceptedCount: 8,
                        isFixed: false)
                    _ = environment.downloader.environment.connections.budget(
                        of: .max, report, permitHost: "", at: time.now)
                }
                let events = environment.downloader.start(environment.request("/one")).events
                if isShared {
                    // The delay in which the other file closes a connection.
                    await time.timer(of: .milliseconds(250))
                    time.advance(by: .milliseconds(250))
                }
                let log = await EventLog(events)
                #expect((log.error == nil) == isShared)
                #expect(log.retries.count == (isShared ? 1 : 0))
            }
        }
    }

    @Test(arguments: Engine.allCases, ["120", HTTPDate(secondsSinceEpoch: 1_800_000_120).headerValue])
    func `rule 37: Retry-After is observed to the second, as a number and as a date`(
        _ engine: Engine, _ retryAfter: String
    ) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            environment.server.serve(Resource(content, script: [[.retryAfter(retryAfter)]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            await time.timer(ofAtLeast: .seconds(120))
            time.advance(by: .seconds(119))
            #expect(download.state == .retrying)
            time.advance(by: .seconds(1))
            let log = await EventLog(of: download)
            #expect(log.retries == [.httpStatus])
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 37: a Retry-After beyond the deadline is not waited for`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine, time: ManualTimeSource()) { environment async throws in
            environment.server.serve(Resource(content, script: [[.retryAfter("120")]]), at: "/one")
            var request = environment.request("/one")
            request.deadline = .seconds(100)
            // The clock does not move, so a delay would never end.
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.error?.code == .deadlineExceeded)
            #expect((log.error?.underlyingError as? DownloadError)?.statusCode == 503)
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 37: a Retry-After longer than the policy allows is shortened`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            environment.server.serve(Resource(content, script: [[.retryAfter("86400")]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            await time.timer(ofAtLeast: .seconds(600))
            time.advance(by: .seconds(600))
            #expect(try await download.file.byteCount == content.length)
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 59: an exchange without a byte for the idle timeout is replaced`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 70_000)]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount >= 70_000 { break }
            }
            let events = download.events
            // The event is emitted inside a callback, whose time doesn't count.
            await download.waitForCallbacks()
            time.advance(by: .seconds(31))
            let log = await EventLog(events)
            #expect(log.retries == [.timedOut])
            #expect(log.resumptions == [70_000])
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a response head that never arrives also exceeds the idle timeout`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            _ = await environment.server.requests(at: "/one", reaching: 1)
            time.advance(by: .seconds(31))
            let log = await EventLog(of: download)
            #expect(log.retries == [.timedOut])
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `the deadline ends a download and keeps its bytes`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 70_000)]]), at: "/one")
            var request = environment.request("/one")
            request.deadline = .seconds(10)
            let download = environment.downloader.start(request)
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount >= 70_000 { break }
            }
            time.advance(by: .seconds(10))
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.retainedByteCount == 70_000)
            #expect(try await environment.downloader.download(environment.request("/one")).byteCount == content.length)
            #expect(environment.server.requests(at: "/one").map(offset(of:)) == [0, 70_000])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a refused connection is a typed error after the retries`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            // No other socket gets this port.
            let url = try #require(URL(string: "http://127.0.0.1:1/one"))
            let log = await EventLog(
                of: environment.downloader.start(
                    DownloadRequest(from: url, to: environment.directory.appending(path: "file"))))
            #expect(log.error?.code == .cannotConnect, "\(String(reflecting: log.error?.underlyingError))")
            #expect(log.retries == [.cannotConnect, .cannotConnect, .cannotConnect])
            #expect(try environment.leftovers == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `an unknown host is reported as a host that was not found`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine, configure: { $0.retryPolicy = .never }) { environment async throws in
            let url = try #require(URL(string: "http://no-such-host.invalid/file"))
            let log = await EventLog(
                of: environment.downloader.start(
                    DownloadRequest(from: url, to: environment.directory.appending(path: "file"))))
            #expect(log.error?.code == .hostNotFound)
        }
    }
}
