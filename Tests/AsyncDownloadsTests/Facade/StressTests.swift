import AsyncDownloads
import Foundation
import LoopbackServer
import Testing

/// Ten thousand downloads that start, stop and end at random: each outcome comes exactly once, and nothing stays behind.
@Suite(.timeLimit(.minutes(15)))
struct StressTests {
    @Test(arguments: Engine.allCases)
    func `every one of many random downloads ends once, and nothing stays open`(_ engine: Engine) async throws {
        // URLSession on Linux does a fifth of the work in the same time.
        let count = engine == .httpClient ? 10_000 : 2_000
        let lengths: [Int64] = [0, 1, 1000, 40_000, 300_000]
        try await Workshop.with(
            engine,
            configure: {
                $0.maximumConcurrentTransfers = 32
                $0.maximumConcurrentTransfersPerHost = 32
            }
        ) { shop async throws in
            for path in 0..<40 {
                var resource = Resource(
                    Content(seed: UInt64(path), length: lengths[path % lengths.count]), entityTag: "\"\(path)\"")
                if path % 7 == 0 { resource.script = [[.cut(after: 500, .reset)], [], [.status(503)], []] }
                shop.server.serve(resource, at: "/\(path)")
            }
            let tally = Tally()
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<count {
                    if index >= 200 { await group.next() }
                    group.addTask {
                        var random = SplitMix64(seed: UInt64(index))
                        await Self.live(index, in: shop, &random, tally)
                    }
                }
            }
            #expect(tally.total == count)
            #expect(tally.finished > count / 10)
            #expect(tally.cancelled > count / 10)
            #expect(tally.wrong == [])
            await shop.downloader.shutdown()
            #expect(shop.downloader.callerCount == 0)
            let hidden = try shop.leftovers.filter { $0.hasSuffix(".lock") }
            #expect(hidden == [], "a lock that stays is a partial that stayed open")
        }
    }

    /// The life of one caller: a random order of listening, pausing, resuming, leaving.
    private static func live(
        _ index: Int, in shop: Workshop, _ random: inout SplitMix64, _ tally: Tally
    ) async {
        let path = Int.random(in: 0..<40, using: &random)
        let download = shop.downloader.start(shop.request("/\(path)", to: "\(path)-\(index % 50)"))
        let listener = Bool.random(using: &random) ? Task { await Story(of: download) } : nil
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: download.pause()
            case 1: download.resume()
            case 2: download.pause(); download.resume()
            case 3: await Task.yield()
            default: _ = (download.state, download.progress)
            }
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: download.cancel()
        case 1: download.discard()
        case 2:
            let awaiting = Task { try await download.file }
            awaiting.cancel()
            download.resume()
            _ = await awaiting.result
        default: download.resume()
        }
        do throws(DownloadError) {
            let file = try await download.file
            tally.finish(file.byteCount)
        } catch {
            tally.fail(error)
        }
        if let listener {
            let story = await listener.value
            if story.error == nil, story.file == nil { tally.note("a stream ended without file or error") }
        }
    }
}

/// What came of many downloads.
private final class Tally: Sendable {
    private struct State {
        var finished = 0
        var cancelled = 0
        var wrong: [String] = []
    }

    private let state = Mutex(State())

    var finished: Int { state.withLock { $0.finished } }
    var cancelled: Int { state.withLock { $0.cancelled } }
    var wrong: [String] { state.withLock { $0.wrong } }
    var total: Int { state.withLock { $0.finished + $0.cancelled + $0.wrong.count } }

    func finish(_ byteCount: Int64) { state.withLock { $0.finished += 1 } }

    func fail(_ error: DownloadError) {
        state.withLock { state in
            if error.code == .cancelled { state.cancelled += 1 } else { state.wrong.append(error.description) }
        }
    }

    func note(_ wrong: String) { state.withLock { $0.wrong.append(wrong) } }
}
