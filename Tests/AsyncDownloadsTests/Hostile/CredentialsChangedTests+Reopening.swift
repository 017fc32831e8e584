internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Credentials that change while a transfer has bytes whose partial is opened again.
extension CredentialsChangedTests {
    /// The reason why the partial is opened again.
    enum Reopening: CaseIterable, Sendable {
        /// The download is paused while its headers change.
        case pause
        /// The server asks for a retry so late that the partial is closed.
        case retry
    }

    /// Receives a part of ``content`` with the headers of another user, and the rest of `served` with ``mine``.
    ///
    /// - Parameter isReturned: Whether the headers change back before a request is sent.
    private func receive(
        _ served: Content, after reopening: Reopening, inMemory: Bool, isReturned: Bool = false
    ) async throws -> (log: EventLog, isServed: Bool) {
        var result: (EventLog, Bool)?
        let time = ManualTimeSource()
        try await TestEnvironment.with(time: time) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"revision\"", script: [[.stall(after: Self.cut)]]), at: "/one")
            let url = environment.server.url("/one")
            var request = inMemory ? DownloadRequest(from: url, to: .memory) : environment.request("/one")
            request.headers = ["Authorization": "Bearer another"]
            let download = environment.downloader.start(request)
            try await download.progress(reaching: Self.cut)
            let events = download.events
            let script: [Step] = reopening == .retry ? [[.retryAfter("120")]] : []
            environment.server.serve(Resource(served, entityTag: "\"revision\"", script: script), at: "/one")
            if reopening == .pause {
                download.pause()
                for try await event in download.events { if case .paused = event { break } }
            }
            try download.replaceURL(with: FreshURL(url, headers: Self.mine))
            if isReturned { try download.replaceURL(with: FreshURL(url, headers: request.headers)) }
            download.resume()
            if reopening == .retry {
                await time.timer(ofAtLeast: .seconds(120))
                while download.state != .retrying { await Task.yield() }
                // The host's limit is learned from the refusal, and has a margin.
                time.advance(by: .seconds(150))
            }
            let log = await EventLog(events)
            let path = environment.directory.appending(path: "file.bin")
            let body = try await download.file.data ?? Data(contentsOf: path)
            result = (log, body.withUnsafeBytes { served.matches($0, at: 0) } && Int64(body.count) == served.length)
        }
        return try #require(result)
    }

    @Test(arguments: Reopening.allCases, [false, true])
    func `boundary 5: bytes of other headers are proven after their partial was opened again`(
        _ reopening: Reopening, _ inMemory: Bool
    ) async throws {
        let (log, isServed) = try await receive(Self.other, after: reopening, inMemory: inMemory)
        #expect(log.restarts == [.credentialsChanged])
        #expect(isServed)
    }

    @Test(arguments: Reopening.allCases, [false, true])
    func `boundary 5: equal bytes are continued after their partial was opened again`(
        _ reopening: Reopening, _ inMemory: Bool
    ) async throws {
        let (log, isServed) = try await receive(Self.content, after: reopening, inMemory: inMemory)
        #expect(log.restarts == [] && isServed)
    }

    @Test(arguments: [false, true])
    func `boundary 5: headers that have changed back need no proof`(_ inMemory: Bool) async throws {
        let (log, isServed) = try await receive(Self.content, after: .pause, inMemory: inMemory, isReturned: true)
        #expect(log.restarts == [] && isServed)
        #expect(log.file?.fetchedByteCount == Self.content.length)
    }

    @Test(arguments: [false, true])
    func `boundary 5: bytes of two users that waited for a checksum are proven without one`(
        _ inMemory: Bool
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"revision\"", script: [[.stall(after: Self.cut)]]), at: "/one")
            let url = environment.server.url("/one")
            var request = inMemory ? DownloadRequest(from: url, to: .memory) : environment.request("/one")
            request.headers = Self.mine
            request.retryPolicy = .never
            var checked = request
            checked.checksum = Self.content.sha256
            let download = environment.downloader.start(checked)
            try await download.progress(reaching: Self.cut)
            let events = download.events
            environment.server.serve(
                Resource(Self.other, entityTag: "\"revision\"", script: [[.cut(after: 100_000)]]), at: "/one")
            try download.replaceURL(with: FreshURL(url, headers: ["Authorization": "Bearer another"]))
            #expect(await EventLog(events).error?.retainedByteCount == Self.cut + 100_000)
            environment.server.serve(Resource(Self.content, entityTag: "\"revision\""), at: "/one")
            let last = environment.downloader.start(request)
            #expect(await EventLog(of: last).restarts == [.credentialsChanged])
            let body = try await last.file.data ?? Data(contentsOf: environment.directory.appending(path: "file.bin"))
            #expect(body.withUnsafeBytes { Self.content.matches($0, at: 0) })
        }
    }
}
