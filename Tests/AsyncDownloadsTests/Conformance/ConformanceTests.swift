import AsyncDownloads
import ConformanceRows
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Tests of the rules of resumption against a server, on every engine; each row of a table is a test case.
@Suite(.endsWhenHung(minutes: 12))
struct ConformanceTests {
    @Test(arguments: Engine.allCases, Scenario.plain)
    func `a download completes with a correct or interrupting server`(
        _ engine: Engine, _ scenario: Scenario
    ) async throws {
        try await prove(scenario, on: engine)
    }

    @Test(arguments: Engine.allCases, Scenario.changes)
    func `a download follows objects that change and servers that ignore ranges or conditions`(
        _ engine: Engine, _ scenario: Scenario
    ) async throws {
        try await prove(scenario, on: engine)
    }

    @Test(arguments: Engine.allCases, Scenario.untrustedPartials)
    func `a download uses only valid partial responses`(_ engine: Engine, _ scenario: Scenario) async throws {
        try await prove(scenario, on: engine)
    }

    @Test(arguments: Engine.allCases, Scenario.bodies)
    func `a download detects bodies that are truncated, coded, or too long`(
        _ engine: Engine, _ scenario: Scenario
    ) async throws {
        try await prove(scenario, on: engine)
    }

    @Test(arguments: Engine.allCases, Scenario.statuses)
    func `a download retries temporary statuses and ends with final ones`(
        _ engine: Engine, _ scenario: Scenario
    ) async throws {
        try await prove(scenario, on: engine)
    }

    @Test(arguments: Engine.allCases, Scenario.sequences)
    func `a download survives several faults in succession`(_ engine: Engine, _ scenario: Scenario) async throws {
        try await prove(scenario, on: engine)
    }

    @Test(arguments: Engine.allCases, Scenario.segments)
    func `a download combines a file from several segments`(_ engine: Engine, _ scenario: Scenario) async throws {
        try await prove(scenario, on: engine)
    }

    private func prove(_ scenario: Scenario, on engine: Engine) async throws {
        if let reason = scenario.impossible[engine.choice] {
            print("\(scenario.testDescription), on \(engine.rawValue): not run. \(reason)")
            return
        }
        // On a busy machine, a large file would otherwise be fetched over more connections, which receive the faults.
        try await TestEnvironment.with(engine, configure: { $0.maximumConnectionsPerTransfer = 1 }) {
            environment async throws in
            environment.server.serve(scenario.resource, at: "/object")
            let download = environment.downloader.start(environment.request("/object"))
            let log = await EventLog(of: download)
            switch scenario.outcome {
            case .file(let content):
                #expect(log.error == nil, "\(log.retries), \(log.restarts)")
                #expect(log.file?.byteCount == content.length)
                #expect(try environment.holds(content))
                #expect(try environment.leftovers == ["file.bin"])
            case .coded(let bytes, let content):
                #expect(log.error == nil, "\(log.retries), \(log.restarts)")
                if engine.decodesContent {
                    #expect(try environment.holds(content))
                } else {
                    #expect(try Data(contentsOf: environment.directory.appending(path: "file.bin")) == Data(bytes))
                }
                #expect(try environment.leftovers == ["file.bin"])
            case .failure(let code, let kept):
                let error = try #require(log.error)
                #expect(error.code == code, "\(error)")
                #expect(kept.contains(error.retainedByteCount), "\(error)")
                #expect(try !environment.leftovers.contains("file.bin"))
            }
            let requests = environment.server.requests(at: "/object")
            if let offsets = scenario.offsets { #expect(requests.map(offset(of:)) == offsets) }
            if let restarts = scenario.restarts { #expect(log.restarts == restarts) }
            if let resumptions = scenario.resumptions { #expect(log.resumptions == resumptions) }
            expectConditions(requests, scenario, on: engine)
            expectProgressForwards(log)
        }
    }

    private func expectConditions(_ requests: [RecordedRequest], _ scenario: Scenario, on engine: Engine) {
        var unconditionalCount = 0
        for request in requests {
            #expect(request["Accept-Encoding"] == "identity", "rule 6")
            let conditions = ["If-Range", "If-Match", "If-Unmodified-Since"].compactMap { request[$0] }
            if offset(of: request) > 0 {
                if conditions.isEmpty, scenario.unconditionalCount > 0 {
                    unconditionalCount += 1
                } else {
                    #expect(conditions.count == 1, "rules 1, 8")
                    #expect(scenario.validators.isSuperset(of: conditions), "rules 2 to 4")
                }
                #expect(request["Range"]?.contains(",") == false, "rule 7")
            } else {
                #expect(conditions == [], "rule 1")
            }
        }
        if engine.asksForRestAtOnce {
            #expect(unconditionalCount == scenario.unconditionalCount, "rule 34")
        } else {
            #expect(unconditionalCount <= scenario.unconditionalCount, "rule 34")
        }
    }

    private func expectProgressForwards(_ log: EventLog) {
        var last: Int64 = 0
        for count in log.receivedCounts {
            #expect((count ?? 0) >= (count == nil ? 0 : last), "rule 56")
            last = count ?? 0
        }
    }
}
