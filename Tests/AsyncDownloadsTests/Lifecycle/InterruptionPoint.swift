import LoopbackServer
import Testing

@testable import AsyncDownloads

/// A point at which a test interrupts a download; ``byteCount`` is the number of bytes received at that point.
enum InterruptionPoint: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case waiting
    case connecting
    case receiving
    case backingOff
    case lastByte
    case verifying
    case renaming

    static let object = SteppedObject(content: Content(seed: 11, length: 100_000), tag: "\"a\"")
    static let byteCount: Int64 = 40_000

    var testDescription: String { rawValue }

    var state: Download.State {
        switch self {
        case .waiting: .waiting
        case .connecting, .receiving, .lastByte: .downloading
        case .backingOff: .retrying
        case .verifying, .renaming: .verifying
        }
    }

    /// Whether it is too late to stop the transfer.
    var isTooLate: Bool { state == .verifying }

    /// The number of bytes received at this point.
    var byteCount: Int64 {
        switch self {
        case .waiting, .connecting, .receiving, .backingOff: Self.byteCount
        case .lastByte, .verifying, .renaming: Self.object.content.length
        }
    }

    /// Starts a download and advances it to this point; requires a limit of one transfer.
    func reached(on fixture: LifecycleFixture, _ request: DownloadRequest) async throws -> Download {
        let download = fixture.downloader.start(request)
        try await reach(on: fixture)
        return download
    }

    /// Advances the transfer that has just started to this point.
    func reach(on fixture: LifecycleFixture) async throws {
        await fixture.waitUntilIdle()
        let first = try #require(fixture.transport.open.last)
        first.answer(Self.object)
        first.deliver(Self.byteCount)
        switch self {
        case .receiving:
            break
        case .backingOff:
            first.end(.failed(DownloadError(.connectionLost)))
        case .waiting:
            first.end(.failed(DownloadError(.connectionLost)))
            fixture.downloader.start(try fixture.request("/other", to: "other.bin"))
            await fixture.waitUntilIdle()
            fixture.time.advance(by: .seconds(60))
        case .connecting:
            first.end(.failed(DownloadError(.connectionLost)))
            await fixture.waitUntilIdle()
            fixture.time.advance(by: .seconds(60))
        case .lastByte:
            first.deliver(Self.object.content.length)
        case .verifying, .renaming:
            let hold = self == .verifying ? fixture.disk.reading : fixture.disk.renaming
            hold.shut()
            first.deliver(Self.object.content.length)
            first.end(.complete)
            while !hold.hasWaiter { await Task.yield() }
            return
        }
        await fixture.waitUntilIdle()
    }
}
