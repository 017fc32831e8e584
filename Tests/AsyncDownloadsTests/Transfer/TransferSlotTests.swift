internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The change of a transfer from one stage to the next, and its release.
@Suite(.endsWhenHung)
struct TransferSlotTests {
    private static let content = Content(seed: 5, length: 1000)

    /// An action of a caller while a queued download becomes active.
    enum Input: CaseIterable, Sendable {
        case awaitFile, readEvents, readStates, pauseAndResume, join, addHandle
    }

    @Test(arguments: 0..<15)
    func `inputs from several threads are not lost while a queued transfer becomes active`(
        _ seed: UInt64
    ) async throws {
        try await TestEnvironment.with(configure: { $0.maximumConcurrentTransfers = 1 }) { environment async throws in
            environment.server.serve(Resource(Self.content, script: [[.holdHead]]), at: "held")
            environment.server.serve(Resource(Self.content), at: "file")
            let held = environment.downloader.start(environment.request("held", to: "held"))
            _ = await environment.server.requests(at: "held", reaching: 1)
            let download = environment.downloader.start(environment.request("file"))
            let transfer = try download.transfer
            #expect(transfer.activeTransfer == nil)
            var generator = SplitMix64(seed: seed)
            let inputs = Input.allCases.shuffled(using: &generator).prefix(4)
            await withTaskGroup { group in
                for input in inputs {
                    group.addTask { await Self.perform(input, on: download, environment) }
                }
                // The permit is another input.
                group.addTask { held.cancel() }
            }
            #expect(try await download.file.byteCount == 1000, "seed \(seed)")
            #expect(transfer.activeTransfer != nil)
        }
    }

    private static func perform(_ input: Input, on download: Download, _ environment: TestEnvironment) async {
        switch input {
        case .awaitFile:
            await expectFile(of: download)
        case .readEvents:
            #expect(await EventLog(of: download).error == nil)
        case .readStates:
            for await state in download.states where state == .completed { break }
        case .pauseAndResume:
            download.pause()
            download.resume()
        case .join:
            await expectFile(of: environment.downloader.start(environment.request("file")))
        case .addHandle:
            for found in environment.downloader.downloads(for: download.request.url) { await expectFile(of: found) }
        }
    }

    private static func expectFile(of download: Download) async {
        await #expect(throws: Never.self) { try await download.file }
    }

    @Test func `a transfer that has ended is released with its handle`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content), at: "file")
            weak var slot: TransferSlot?
            weak var active: ActiveTransfer?
            do {
                let download = environment.downloader.start(environment.request("file"))
                slot = try download.transfer
                _ = try await download.file
                active = slot?.activeTransfer
                #expect(active != nil)
            }
            // If one of them is not released, the test does not end, and the suite's trait reports it.
            while slot != nil || active != nil, !Task.isCancelled { await Task.yield() }
        }
    }
}
