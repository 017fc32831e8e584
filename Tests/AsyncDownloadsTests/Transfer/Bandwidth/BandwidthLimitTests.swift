import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of downloads with a limited bandwidth.
@Suite(.endsWhenHung) struct BandwidthLimitTests {
    private let object = SteppedObject(content: Content(seed: 3, length: 100_000), tag: "\"a\"")

    @Test(arguments: [true, false])
    func `an exchange waits until its next bytes are due`(isOwn: Bool) async throws {
        try await LifecycleFixture.with(configure: { if !isOwn { $0.bandwidthLimit = 10_000 } }) { fixture in
            var request = try fixture.request()
            if isOwn { request.bandwidthLimit = 10_000 }
            let download = fixture.downloader.start(request)
            let exchange = await fixture.transport.exchange(0)
            exchange.answer(object)
            exchange.deliver(21_000)
            // A tenth of a second is credit.
            #expect(exchange.isHeldBack)
            fixture.time.advance(by: .milliseconds(1_999))
            #expect(exchange.isHeldBack)
            fixture.time.advance(by: .milliseconds(1))
            #expect(!exchange.isHeldBack)
            exchange.deliver(79_000)
            exchange.end(.complete)
            fixture.time.advance(by: .seconds(8))
            #expect(try await download.file.byteCount == 100_000)
        }
    }

    @Test func `the limit of all downloads applies to each of them`() async throws {
        try await LifecycleFixture.with(configure: { $0.bandwidthLimit = 10_000 }) { fixture in
            let downloads = [
                fixture.downloader.start(try fixture.request("/one", to: "1")),
                fixture.downloader.start(try fixture.request("/two", to: "2")),
            ]
            let exchanges = [await fixture.transport.exchange(0), await fixture.transport.exchange(1)]
            for exchange in exchanges {
                exchange.answer(object)
                exchange.deliver(10_500)
            }
            fixture.time.advance(by: .seconds(1))
            #expect(exchanges.map(\.isHeldBack) == [false, true])
            fixture.time.advance(by: .seconds(1))
            #expect(exchanges.map(\.isHeldBack) == [false, false])
            _ = downloads
        }
    }

    @Test func `a changed limit applies at once`() async throws {
        try await LifecycleFixture.with(configure: { $0.bandwidthLimit = 1_000 }) { fixture in
            let download = fixture.downloader.start(try fixture.request())
            let exchange = await fixture.transport.exchange(0)
            exchange.answer(object)
            exchange.deliver(10_100)
            fixture.time.advance(by: .seconds(2))
            #expect(exchange.isHeldBack)
            fixture.downloader.bandwidthLimit = 8_000
            fixture.time.advance(by: .milliseconds(999))
            #expect(exchange.isHeldBack)
            fixture.time.advance(by: .milliseconds(1))
            #expect(!exchange.isHeldBack)
            exchange.deliver(50_000)
            #expect(exchange.isHeldBack)
            fixture.downloader.bandwidthLimit = .unlimited
            #expect(!exchange.isHeldBack)
            #expect(fixture.downloader.bandwidthLimit == .unlimited)
            download.bandwidthLimit = 1
            exchange.deliver(1_000)
            #expect(exchange.isHeldBack && download.bandwidthLimit == 1)
            download.bandwidthLimit = .unlimited
            #expect(!exchange.isHeldBack)
        }
    }

    @Test func `a download that waits for its share is not idle`() async throws {
        let configure: (inout Downloader.Configuration) -> Void = {
            $0.bandwidthLimit = 100
            $0.idleTimeout = .seconds(5)
            $0.retryPolicy = .never
        }
        try await LifecycleFixture.with(configure: configure) { fixture in
            let download = fixture.downloader.start(try fixture.request())
            let exchange = await fixture.transport.exchange(0)
            exchange.answer(object)
            exchange.deliver(6_000)
            await fixture.waitUntilIdle()
            for _ in 0..<50 {
                fixture.time.advance(by: .seconds(1))
                #expect(download.state == .downloading)
            }
            #expect(exchange.isHeldBack)
            fixture.time.advance(by: .seconds(10))
            #expect(!exchange.isHeldBack)
            // From here on, it is idle.
            for _ in 0..<20 { fixture.time.advance(by: .seconds(1)) }
            #expect(exchange.isCancelled)
        }
    }

    @Test func `a pause does not wait for the bandwidth`() async throws {
        try await LifecycleFixture.with(configure: { $0.bandwidthLimit = 10 }) { fixture in
            let download = fixture.downloader.start(try fixture.request())
            let exchange = await fixture.transport.exchange(0)
            exchange.answer(object)
            exchange.deliver(5_000)
            #expect(exchange.isHeldBack)
            await fixture.waitUntilIdle()
            download.pause()
            #expect(!exchange.isHeldBack && exchange.isCancelled)
            exchange.end(.cancelled)
            await fixture.waitForStore()
            #expect(download.state == .paused)
            #expect(download.progress.receivedByteCount == 5_000)
        }
    }

    @Test func `a limit below 1 is refused in a request`() async throws {
        try await LifecycleFixture.with { fixture in
            var request = try fixture.request()
            request.bandwidthLimit = 0
            #expect(await fixture.downloader.start(request).failure?.code == .invalidRequest)
        }
    }

    @Test(arguments: Engine.allCases)
    func `limited downloads over several connections are complete`(_ engine: Engine) async throws {
        let content = Content(seed: 5, length: 3_000_000)
        let configure: (inout Downloader.Configuration) -> Void = {
            $0.bandwidthLimit = 30_000_000
            // On the system's clock, a busy machine must not be mistaken for a silent server.
            $0.idleTimeout = .seconds(900)
        }
        // The limits only elapse on a clock that moves by itself; the result doesn't depend on how fast it does.
        try await TestEnvironment.with(engine, time: SystemTimeSource(), configure: configure) { environment in
            environment.server.serve(Resource(content, entityTag: "\"a\""), at: "/one")
            var request = environment.request("/one")
            request.connectionCount = 2
            request.bandwidthLimit = 20_000_000
            _ = try await environment.downloader.download(request)
            #expect(try environment.holds(content))
        }
    }
}
