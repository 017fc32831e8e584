import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the parts of a response that its error contains.
@Suite(.endsWhenHung)
struct ErrorResponseTests {
    private static func refusal(_ status: Int, _ body: String, _ fields: [(String, String)] = []) -> Step {
        Step([.status(status, body: .init(stringLiteral: body))] + fields.map { .header($0.0, $0.1) })
    }

    /// Returns the error of a download from a resource that refuses each request.
    private func error(
        _ environment: TestEnvironment, _ step: Step, framing: Resource.Framing = .contentLength
    ) async throws -> DownloadError {
        var resource = Resource("")
        (resource.script, resource.repeatsLastStep, resource.framing) = ([step], true, framing)
        environment.server.serve(resource, at: "/a")
        let result = await environment.result(of: environment.request("/a"))
        return try #require(result.failure)
    }

    @Test(arguments: Engine.allCases, Resource.Framing.allCases)
    func `an error contains the head and the body of a refusal, however the body is framed`(
        _ engine: Engine, _ framing: Resource.Framing
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let message = "Access to this model is restricted."
            let error = try await error(
                environment,
                Self.refusal(
                    403, "{\"error\":\"\(message)\"}",
                    [("X-Error-Code", "GatedRepo"), ("X-Error-Message", message), ("Set-Cookie", "token=s3cret")]),
                framing: framing)
            #expect(error.code == .httpStatus && error.statusCode == 403)
            #expect(error.response?.statusCode == 403)
            #expect(error.response?.url == environment.server.url("/a"))
            #expect(error.response?.headers["X-Error-Message"] == message)
            #expect(error.response?.headers["X-Error-Code"] == "GatedRepo")
            #expect(error.response?.headers["Set-Cookie"] == nil)
            #expect(error.responseBody == Data("{\"error\":\"\(message)\"}".utf8))
            #expect(!"\(error)".contains("restricted"))
            #expect(try environment.leftovers == [])
        }
    }

    @Test(arguments: Engine.allCases, [Resource.Framing.contentLength, .chunked])
    func `of a long body, the error contains the first 16 KiB`(
        _ engine: Engine, _ framing: Resource.Framing
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let body = String(repeating: "0123456789abcdef", count: 4 << 10)
            let error = try await error(environment, Self.refusal(404, body), framing: framing)
            #expect(error.responseBody == Data(body.utf8.prefix(16 << 10)))
        }
    }

    @Test(arguments: Engine.allCases)
    func `the error of the last attempt contains its body`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let error = try await error(environment, Self.refusal(500, "busy"), framing: .chunked)
            #expect(environment.server.requests(at: "/a").count == 4)
            #expect(error.responseBody == Data("busy".utf8))
            // The response has no body.
            let empty = try await self.error(environment, Self.refusal(500, ""))
            #expect(empty.response?.statusCode == 500 && empty.responseBody == nil)
        }
    }

    @Test func `a body that doesn't end is awaited for five seconds`() async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(time: time) { environment async throws in
            var resource = Resource("")
            resource.script = [[.status(403, body: "restricted"), .endless, .stall(after: 4)]]
            environment.server.serve(resource, at: "/a")
            let download = environment.downloader.start(environment.request("/a"))
            let transfer = try #require(environment.downloader.liveTransfers.first)
            while transfer.withState({ $0.machine.phase }) != .draining { await Task.yield() }
            let start = time.now
            // The periodic check is due each second; the phase is visible before it is scheduled.
            while transfer.withState({ $0.machine.phase }) == .draining {
                if time.pendingCount > 0 { time.advance(by: .seconds(1)) }
                await Task.yield()
            }
            #expect(time.now - start >= .seconds(5))
            let error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .httpStatus && error?.statusCode == 403)
        }
    }

    @Test(arguments: Engine.allCases)
    func `the connection of a short refusal is used again`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            for framing in [Resource.Framing.contentLength, .chunked] {
                _ = try await error(environment, Self.refusal(403, "restricted"), framing: framing)
            }
            #expect(Set(environment.server.requests(at: "/a").map(\.connection)).count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a finished file has the heads of all responses that led to it`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var start = Resource("")
            start.script = [[.redirect(location: "/b?s3cret")]]
            start.repeatsLastStep = true
            environment.server.serve(start, at: "/a")
            var target = Resource(Content(seed: 1, length: 100_000), entityTag: "\"v1\"", script: [[.cut(after: 5000)]])
            target.contentDisposition = "attachment; filename=\"b.zip\""
            target.headers["X-Own"] = "kept"
            environment.server.serve(target, at: "/b")
            let request = environment.request("/a", to: "c")
            let log = await EventLog(of: environment.downloader.start(request))
            let file = try #require(log.file)
            // URLSession on Linux requests windows.
            #expect([[302, 200], [302, 206]].contains(file.responses.map(\.statusCode)))
            #expect(file.responses.map(\.url.path) == ["/a", "/b"])
            #expect(file.responses.first?.headers["Location"] == "/b")
            #expect(file.responses.last?.headers["X-Own"] == "kept")
            #expect(file.responses.last?.url == file.finalURL)
            let starts = log.events.compactMap { event -> [String?]? in
                guard case .started(_, _, let name, let type) = event else { return nil }
                return [name, type]
            }
            #expect(starts == [["b.zip", "application/octet-stream"]])
            let again = try await environment.downloader.download(request)
            #expect(again.isReused == TemporaryDirectory.hasAttributes)
            if again.isReused { #expect(again.responses == []) }
        }
    }
}
