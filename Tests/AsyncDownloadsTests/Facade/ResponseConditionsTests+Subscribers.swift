import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// The conditions of several requests that share a transfer.
extension ResponseConditionsTests {
    @Test(arguments: Engine.allCases)
    func `rule 66: a refusal ends one subscriber, and the others continue`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            serve(environment, script: [[.holdHead]])
            var requests = ["a", "b", "c", "d"].map { environment.request("/a", to: $0) }
            requests[1].validateResponse = Validation(throwing: Refused(number: 1)).validate
            requests[2].acceptedMediaTypes = ["image/*"]
            requests[3].validateResponse = Validation().validate
            let downloads = requests.map { environment.downloader.start($0) }
            _ = await environment.server.requests(at: "/a", reaching: 1)
            environment.server.release("/a")
            var codes: [DownloadError.Code?] = []
            for download in downloads { codes.append(await EventLog(of: download).error?.code) }
            #expect(codes == [nil, .responseRefused, .unacceptableMediaType, nil])
            while try environment.leftovers != ["a", "d"] { await Task.yield() }
            #expect(environment.server.requests(at: "/a").count == 1)
        }
    }

    @Test func `rule 66: a later subscriber is asked about the response that was accepted`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, script: [[.stall(after: 100_000)]])
            let first = environment.downloader.start(environment.request("/a", to: "first"))
            try await first.progress(reaching: 100_000)
            let (refusing, accepting) = (Validation(throwing: Refused(number: 1)), Validation())
            var request = environment.request("/a", to: "second")
            request.validateResponse = refusing.validate
            let second = environment.downloader.start(request)
            #expect(await EventLog(of: second).error?.code == .responseRefused)
            request = environment.request("/a", to: "third")
            request.validateResponse = accepting.validate
            let third = environment.downloader.start(request)
            request = environment.request("/a", to: "fourth.zip")
            request.expectedByteCount = 5
            #expect(await environment.result(of: request).failure?.code == .unexpectedByteCount)
            environment.server.release("/a")
            _ = try await (first.file, third.file)
            #expect(refusing.statusCodes == [200] && accepting.statusCodes == [200])
            #expect(third.isCoalesced)
            #expect(try environment.leftovers == ["first", "third"])
        }
    }

    @Test(arguments: [true, false])
    func `rule 66: a later subscriber gets no file before its closure has returned`(_ accepts: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, script: [[.stall(after: 100_000)]])
            let first = environment.downloader.start(environment.request("/a", to: "first"))
            try await first.progress(reaching: 100_000)
            let gate = Gate()
            let validation = Validation(throwing: accepts ? nil : Refused(number: 1), behind: gate)
            var request = environment.request("/a", to: "second")
            request.validateResponse = validation.validate
            let second = environment.downloader.start(request)
            await validation.called()
            environment.server.release("/a")
            while try !environment.leftovers.contains("first") { await Task.yield() }
            #expect(try !environment.leftovers.contains("second"))
            gate.open()
            let log = await EventLog(of: second)
            #expect(log.error?.code == (accepts ? nil : .responseRefused))
            _ = try await first.file
            #expect(try environment.leftovers == (accepts ? ["first", "second"] : ["first"]))
        }
    }

    @Test func `rule 66: a subscriber without conditions that joins releases a body that is held back`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment)
            let gate = Gate()
            let validation = Validation(behind: gate)
            var request = environment.request("/a", to: "first")
            request.validateResponse = validation.validate
            let first = environment.downloader.start(request)
            await validation.called()
            let second = environment.downloader.start(environment.request("/a", to: "second"))
            while try !environment.leftovers.contains("second") { await Task.yield() }
            gate.open()
            _ = try await (first.file, second.file)
        }
    }

    @Test func `a deadline ends a subscriber whose closure runs after all bytes have arrived`() async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(time: time) { environment async throws in
            serve(environment, script: [[.stall(after: 100_000)]])
            let first = environment.downloader.start(environment.request("/a", to: "first"))
            try await first.progress(reaching: 100_000)
            let gate = Gate()
            let validation = Validation(behind: gate)
            var request = environment.request("/a", to: "second")
            request.validateResponse = validation.validate
            request.deadline = .seconds(10)
            let second = environment.downloader.start(request)
            await validation.called()
            environment.server.release("/a")
            while try !environment.leftovers.contains("first") { await Task.yield() }
            time.advance(by: .seconds(10))
            #expect(await second.result.failure?.code == .deadlineExceeded)
            _ = try await first.file
            gate.open()
        }
    }

    @Test func `rule 66: a subscriber that joins is asked about the response that the first one is asked about`()
        async throws
    {
        try await TestEnvironment.with { environment async throws in
            serve(environment)
            let gate = Gate()
            let (first, second) = (Validation(behind: gate), Validation(throwing: Refused(number: 2)))
            var request = environment.request("/a", to: "first")
            request.validateResponse = first.validate
            let patient = environment.downloader.start(request)
            await first.called()
            request = environment.request("/a", to: "second")
            request.validateResponse = second.validate
            #expect(await environment.result(of: request).failure?.code == .responseRefused)
            gate.open()
            _ = try await patient.file
            #expect(first.statusCodes == [200] && second.statusCodes == [200])
            #expect(environment.server.requests(at: "/a").count == 1)
            #expect(try environment.leftovers == ["first"])
        }
    }

    @Test(arguments: [true, false])
    func `rule 66: a transfer that continues alone keeps the conditions of the last subscriber`(
        _ hasClosure: Bool
    ) async throws {
        try await TestEnvironment.with(configure: { $0.abandonmentPolicy = .finish }) { environment async throws in
            serve(environment, script: [[.holdHead]])
            let validation = Validation()
            var request = environment.request("/a")
            if hasClosure {
                request.validateResponse = validation.validate
            } else {
                request.acceptedMediaTypes = ["image/*"]
            }
            let download = environment.downloader.start(request)
            _ = await environment.server.requests(at: "/a", reaching: 1)
            download.cancel()
            environment.server.release("/a")
            await environment.server.idle(at: "/a")
            await environment.downloader.shutdown()
            // The closure of a subscriber that has left can't be asked, so nothing is placed.
            #expect(try !environment.leftovers.contains("file.bin") && validation.count == 0)
        }
    }

    @Test func `rule 66: a transfer that continues alone keeps the acceptance of the last subscriber`() async throws {
        try await TestEnvironment.with(configure: { $0.abandonmentPolicy = .finish }) { environment async throws in
            serve(environment, script: [[.stall(after: 100_000), .cut(after: 150_000)]])
            let validation = Validation()
            var request = environment.request("/a")
            request.validateResponse = validation.validate
            let download = environment.downloader.start(request)
            try await download.progress(reaching: 100_000)
            download.cancel()
            environment.server.release("/a")
            while try !environment.leftovers.contains("file.bin") { await Task.yield() }
            #expect(validation.count == 1 && environment.server.requests(at: "/a").map(\.status) == [200, 206])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `rule 66: a transfer does not continue alone while its response is being examined`() async throws {
        try await TestEnvironment.with(configure: { $0.abandonmentPolicy = .finish }) { environment async throws in
            serve(environment, script: [[.stall(after: 50_000)]])
            let gate = Gate()
            let validation = Validation(behind: gate)
            var request = environment.request("/a")
            request.validateResponse = validation.validate
            let download = environment.downloader.start(request)
            await validation.called()
            download.cancel()
            // The connection is closed although the server has more to send.
            await environment.server.idle(at: "/a")
            gate.open()
            await environment.downloader.shutdown()
            #expect(try environment.leftovers == [])
        }
    }
}
