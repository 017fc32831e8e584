import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Downloads that may not use every network.
@Suite(.endsWhenHung)
struct NetworkAccessTests {
    private static let object = InterruptionPoint.object

    private func cellular() -> NetworkPath {
        var path = NetworkPath()
        (path.usesCellular, path.isExpensive) = (true, true)
        return path
    }

    private func wiFiOnly(
        _ fixture: LifecycleFixture, _ path: String = "/one", to name: String = "file.bin"
    ) throws
        -> DownloadRequest
    {
        var request = try fixture.request(path, to: name)
        request.networkAccess = NetworkAccess(allowsCellular: false)
        return request
    }

    @Test func `a download waits without a request, and continues when the network changes`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            fixture.network.path = cellular()
            let download = fixture.downloader.start(try wiFiOnly(fixture))
            let events = download.events
            let listening = Task { await EventLog(events) }
            await fixture.waitUntilIdle()
            #expect(download.state == .waiting && fixture.transport.exchanges.isEmpty)
            #expect(download.snapshot.waitingReason == .networkNotPermitted)
            fixture.network.path = NetworkPath()
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.first).answer(Self.object)
            try #require(fixture.transport.open.first).deliver(40_000)
            fixture.network.path = .without
            await fixture.endCancelled()
            #expect(download.state == .waiting && fixture.transport.open.isEmpty)
            #expect(download.snapshot.waitingReason == .connectivity)
            #expect(try fixture.keptCounts() == [40_000])
            fixture.time.advance(by: .seconds(3600))
            await fixture.waitUntilIdle()
            #expect(fixture.transport.exchanges.count == 1)
            fixture.network.path = NetworkPath()
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.first?.request.headers["Range"] == "bytes=40000-")
            await fixture.finish(download, Self.object)
            let log = await listening.value
            #expect(
                log.events.compactMap(\.waitingReason) == [.turn, .networkNotPermitted, .turn, .connectivity, .turn])
            #expect(log.retries == [] && log.file?.byteCount == Self.object.content.length)
            #expect(fixture.holds(Self.object.content))
        }
    }

    @Test(arguments: [true, false])
    func `a download that doesn't wait fails at once, and its bytes are kept`(isConnected: Bool) async throws {
        try await LifecycleFixture.with { fixture async throws in
            var request = try wiFiOnly(fixture)
            request.networkAccess?.whenUnavailable = .fail
            let download = fixture.downloader.start(request)
            await fixture.waitUntilIdle()
            try #require(fixture.transport.open.first).answer(Self.object)
            try #require(fixture.transport.open.first).deliver(40_000)
            fixture.network.path = isConnected ? cellular() : .without
            await fixture.endCancelled()
            let error = try await #require(throws: DownloadError.self) { try await download.file }
            #expect(error.code == (isConnected ? .networkNotPermitted : .notConnected))
            #expect(error.retainedByteCount == 40_000 && error.isRetryable == !isConnected)
            let second = fixture.downloader.start(request)
            let repeated = try await #require(throws: DownloadError.self) { try await second.file }
            #expect(repeated.code == error.code && fixture.transport.exchanges.count == 1)
        }
    }

    @Test func `the most permissive of several downloads decides, until it leaves`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            fixture.network.path = cellular()
            let prefetch = fixture.downloader.start(try wiFiOnly(fixture))
            await fixture.waitUntilIdle()
            let urgent = fixture.downloader.start(try fixture.request(to: "urgent.bin"))
            await fixture.waitUntilIdle()
            #expect(urgent.isCoalesced && prefetch.state == .downloading && fixture.transport.open.count == 1)
            urgent.cancel()
            await fixture.endCancelled()
            #expect(prefetch.state == .waiting && fixture.transport.open.isEmpty)
        }
    }

    @Test func `a paused download doesn't permit its networks to others`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            fixture.network.path = cellular()
            let prefetch = fixture.downloader.start(try wiFiOnly(fixture))
            let urgent = fixture.downloader.start(try fixture.request(to: "urgent.bin"))
            await fixture.waitUntilIdle()
            #expect(urgent.isCoalesced && fixture.transport.open.count == 1)
            urgent.pause()
            await fixture.endCancelled()
            #expect(prefetch.state == .waiting && fixture.transport.open.isEmpty)
            urgent.resume()
            await fixture.waitUntilIdle()
            #expect(prefetch.state == .downloading && fixture.transport.open.count == 1)
        }
    }

    @Test func `of several downloads, only those end that don't wait`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            let patient = fixture.downloader.start(try fixture.request())
            var request = try fixture.request(to: "other.bin")
            request.networkAccess = NetworkAccess(whenUnavailable: .fail)
            let paused = fixture.downloader.start(request)
            await fixture.waitUntilIdle()
            paused.pause()
            fixture.network.path = .without
            await fixture.endCancelled()
            #expect(patient.state == .waiting && paused.state == .paused)
            paused.resume()
            #expect(paused.state == .failed && patient.state == .waiting)
            request.destination = .memory
            let late = fixture.downloader.start(request)
            #expect(late.state == .failed && patient.state == .waiting)
        }
    }

    @Test func `the access can be changed while a download runs or waits`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            fixture.network.path = cellular()
            let download = fixture.downloader.start(try fixture.request())
            await fixture.waitUntilIdle()
            #expect(download.networkAccess == NetworkAccess() && fixture.transport.open.count == 1)
            download.networkAccess.allowsExpensive = false
            await fixture.endCancelled()
            #expect(download.state == .waiting && download.networkAccess == NetworkAccess(allowsExpensive: false))
            download.networkAccess.allowsExpensive = true
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.count == 1 && fixture.transport.exchanges.count == 2)
            download.networkAccess = NetworkAccess(allowsCellular: false, whenUnavailable: .fail)
            await fixture.endCancelled()
            #expect(await errorCode(of: download) == .networkNotPermitted)
        }
    }

    @Test func `downloads without a network can be paused, resumed, and canceled`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            fixture.network.path = .without
            let downloads = try (0..<3).map { number in
                fixture.downloader.start(try fixture.request("/\(number)", to: "\(number).bin"))
            }
            await fixture.waitUntilIdle()
            downloads[0].pause()
            downloads[1].cancel()
            #expect(downloads.map(\.state) == [.paused, .cancelled, .waiting])
            downloads[0].resume()
            #expect(downloads[0].state == .waiting)
            downloads[2].pause()
            fixture.network.path = NetworkPath()
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.map(\.path) == ["/0"])
            downloads[2].resume()
            await fixture.waitUntilIdle()
            #expect(fixture.transport.open.map(\.path) == ["/0", "/2"])
        }
    }

    @Test func `a deadline ends a download that waits for a network`() async throws {
        try await LifecycleFixture.with { fixture async throws in
            fixture.network.path = .without
            var request = try fixture.request()
            request.deadline = .seconds(60)
            let download = fixture.downloader.start(request)
            await fixture.waitUntilIdle()
            fixture.time.advance(by: .seconds(61))
            #expect(await errorCode(of: download) == .deadlineExceeded)
        }
    }

    @Test func `the interfaces of this machine are listed, and the loopback interface leads to no other machine`() {
        #if os(Linux)
        typealias Flags = NetworkInterface.Flags
        #expect(
            NetworkInterface.all?.contains { $0.flags.contains(.loopback) && $0.address == [127, 0, 0, 1] } == true)
        let interfaces: [(Flags, [UInt8], Bool)] = [
            ([.up, .running], [10, 0, 0, 1], true), ([.up], [10, 0, 0, 1], false),
            ([.up, .running, .loopback], [127, 0, 0, 1], false), ([.up, .running, .loopback], [10, 0, 0, 1], true),
            ([.up, .running, .loopback], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], false),
        ]
        for (flags, address, isUsable) in interfaces {
            #expect(NetworkInterface(flags: flags, address: address).isUsable == isUsable)
        }
        #endif
    }

    private func errorCode(of download: Download) async -> DownloadError.Code? {
        do {
            _ = try await download.file
            return nil
        } catch {
            return error.code
        }
    }
}

extension DownloadEvent {
    fileprivate var waitingReason: WaitingReason? {
        if case .waiting(let reason) = self { reason } else { nil }
    }
}
