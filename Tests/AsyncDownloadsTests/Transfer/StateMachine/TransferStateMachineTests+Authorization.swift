internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Secret headers that a subscriber supplies for each attempt.
@Suite(.endsWhenHung)
struct TransferAuthorizationTests {
    private static let origin = Origin(.sample("https://a.example/"))

    private func started(_ change: (inout TransferSettings) -> Void = { _ in }) -> StateMachineHarness {
        var harness = StateMachineHarness(change)
        var policies = harness.machine.policies
        policies.isAuthorizing = true
        harness.machine.setPolicies(policies)
        harness.run()
        return harness
    }

    @Test func `an attempt asks once, and its redirects, windows, and comparisons send the same fields`() {
        var harness = started { $0.windowLength = 50 }
        #expect(harness.done.last { $0.hasPrefix("authorize") } == "authorize 1 request 1")
        harness.supply("t1")
        harness.head(302, ["Location": "/b", "Content-Length": "0"])
        harness.end()
        harness.head(206, ["Content-Range": "bytes 0-49/100", "Content-Length": "50", "ETag": "\"v1\""])
        harness.bytes(50)
        harness.end()
        #expect(harness.requests.map { $0.headers["Authorization"] } == ["t1", "t1", "t1"])
        harness.lose()
        harness.pass(.seconds(60))
        #expect(harness.done.last { $0.hasPrefix("authorize") } == "authorize 2 request 2")
        harness.supply("t2", 2)
        #expect(harness.requests.last?.headers["Authorization"] == "t2")
    }

    @Test func `a refusal asks again with its challenges, and a second one is final`() {
        var harness = started()
        harness.supply("old")
        harness.head(401, ["WWW-Authenticate": "Bearer error=\"invalid_token\"", "Content-Length": "0"])
        harness.end()
        #expect(harness.done.last { $0.hasPrefix("authorize") } == "authorize 2 status(401) 1")
        harness.supply("new", 2)
        #expect(harness.requests.map { $0.headers["Authorization"] } == ["old", "new"])
        #expect(harness.machine.budget.retriesUsed == 0)
        harness.head(401, ["Content-Length": "0"])
        harness.end()
        #expect(harness.failure?.statusCode == 401)
    }

    @Test func `after an accepted request, a refusal asks again`() {
        var harness = started { $0.windowLength = 50 }
        harness.supply("t1")
        harness.head(401, ["Content-Length": "0"])
        harness.end()
        harness.supply("t2", 2)
        harness.head(206, ["Content-Range": "bytes 0-49/100", "Content-Length": "50", "ETag": "\"v1\""])
        harness.bytes(50)
        harness.end()
        harness.head(401, ["Content-Length": "0"])
        harness.end()
        #expect(harness.done.last { $0.hasPrefix("authorize") } == "authorize 3 status(401) 1")
        #expect(harness.failure == nil)
    }

    @Test func `boundary 4: the fields are sent to no other origin, whose refusal asks for none`() {
        var harness = started()
        harness.supply("t1")
        harness.head(302, ["Location": "https://b.example/x", "Content-Length": "0"])
        harness.end()
        #expect(harness.requests.last?.headers["Authorization"] == nil)
        #expect(harness.requests.last?.sendsCredentials == false)
        harness.head(401, ["Content-Length": "0"])
        harness.end()
        #expect(harness.failure?.statusCode == 401)
    }

    @Test func `a failure counts as a failed attempt, and a stop drops an answer that is late`() {
        var harness = started()
        harness.feed(harness.machine.supplied(.failure(DownloadError(.authorizationFailed)), 1, at: harness.now))
        #expect(harness.log.last == "retrying 1 authorizationFailed")
        harness.pass(.seconds(60))
        harness.stop(.pause)
        let paused = harness.machine.phase
        harness.supply("late", 2)
        #expect(paused == .paused && harness.machine.phase == .paused)
        harness.run()
        #expect(harness.done.last { $0.hasPrefix("authorize") } == "authorize 3 request 3")
    }

    @Test func `an answer that takes long holds no permit, and is used with the next one`() {
        var harness = started()
        harness.forget()
        harness.pass(.seconds(2))
        #expect(harness.done.contains("release the permit") && harness.machine.phase == .refreshing)
        harness.supply("t1")
        #expect(harness.requests.map { $0.headers["Authorization"] } == ["t1"])
    }
}

extension StateMachineHarness {
    /// Supplies the value of Authorization for `https://a.example`.
    fileprivate mutating func supply(_ value: String, _ id: RefreshID = 1) {
        let origins = Set([Origin(.sample("https://a.example/"))].compactMap { $0 })
        let answer = Authorization.Answer(fields: ["Authorization": value], origins: origins)
        feed(machine.supplied(.success(.authorization(answer)), id, at: now))
    }
}
