import LoopbackServer
import Testing

@testable import AsyncDownloads

/// Where a download may stand when a command comes; in each of them ``byteCount`` bytes are there, or all.
enum Moment: String, CaseIterable, Sendable, CustomTestStringConvertible {
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

    /// Whether nothing is left to be stopped.
    var isTooLate: Bool { state == .verifying }

    /// How many bytes are there.
    var byteCount: Int64 {
        switch self {
        case .waiting, .connecting, .receiving, .backingOff: Self.byteCount
        case .lastByte, .verifying, .renaming: Self.object.content.length
        }
    }

    /// Starts a download and brings it here; the stage's limit is one transfer.
    func reached(on stage: LifecycleStage, _ request: DownloadRequest) async throws -> Download {
        let download = stage.downloader.start(request)
        try await reach(on: stage)
        return download
    }

    /// Brings the transfer that has just begun here.
    func reach(on stage: LifecycleStage) async throws {
        await stage.performEffects()
        let first = try #require(stage.transport.open.last)
        first.answer(Self.object)
        first.deliver(Self.byteCount)
        switch self {
        case .receiving:
            break
        case .backingOff:
            first.end(.failed(DownloadError(.connectionLost)))
        case .waiting:
            first.end(.failed(DownloadError(.connectionLost)))
            stage.downloader.start(try stage.request("/other", to: "other.bin"))
            await stage.performEffects()
            stage.time.advance(by: .seconds(60))
        case .connecting:
            first.end(.failed(DownloadError(.connectionLost)))
            await stage.performEffects()
            stage.time.advance(by: .seconds(60))
        case .lastByte:
            first.deliver(Self.object.content.length)
        case .verifying, .renaming:
            let hold = self == .verifying ? stage.disk.reading : stage.disk.renaming
            hold.shut()
            first.deliver(Self.object.content.length)
            first.end(.complete)
            while !hold.hasVisitor { await Task.yield() }
            return
        }
        await stage.performEffects()
    }
}
