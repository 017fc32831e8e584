import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests with two downloaders that compete for one file (rule 50).
///
/// Each has its own store, on a real disk without locks, or on a pretended network volume on which every attempt to lock
/// a file succeeds.
@Suite("Two downloaders without a lock", .endsWhenHung, .serialized)
struct RacingTests {
    /// A race with random parameters.
    struct Race: Sendable, CustomTestStringConvertible {
        let seed: UInt64
        /// The number of bytes that the server has sent when the second downloader starts.
        let lag: Int64
        /// Whether the server has another representation for the second request.
        let changes: Bool
        let engine: Engine
        let durability: Durability

        init(seed: UInt64) {
            var generator = SplitMix64(seed: seed)
            self.seed = seed
            lag = seed.isMultiple(of: 5) ? 0 : Int64.random(in: 1...5 << 20, using: &generator)
            changes = Bool.random(using: &generator)
            engine = Engine.allCases.randomElement(using: &generator) ?? .preferred
            durability = Bool.random(using: &generator) ? .powerLoss : .processCrash
        }

        var files: PretendingFileSystem {
            seed.isMultiple(of: 3)
                ? PretendingFileSystem(locks: .pretended, volume: .other) : PretendingFileSystem(locks: .missing)
        }

        var testDescription: String { "seed \(seed), \(engine), after \(lag), \(changes ? "changed" : "the same")" }
    }

    private static let length: Int64 = 6 << 20
    private static let contents = [Content(seed: 50, length: length), Content(seed: 51, length: length)]

    @Test(arguments: Seeds.first(15).map { Race(seed: $0 + 1) })
    func `rule 50: one whole file exists in the end, and a downloader that lost fails with its reason`(
        _ race: Race
    ) async throws {
        try await TestEnvironment.with(race.engine, configure: { $0.durability = race.durability }) {
            environment async throws in
            let pace = Fault.throttle(bytesPerSecond: 60_000_000)
            let change = Fault.replaceContent(Self.contents[1], entityTag: "\"2\"")
            var resource = Resource(
                Self.contents[0], entityTag: "\"1\"", script: [[pace], race.changes ? [pace, change] : [pace], [pace]])
            resource.repeatsLastStep = true
            environment.server.serve(resource, at: "/one")
            let downloaders = (0..<2).map { _ in
                Downloader(
                    configuration: environment.downloader.configuration, transport: race.engine.makeTransport(),
                    store: PartialStore(
                        disk: race.files, durability: race.durability, bootID: "boot"),
                    time: SystemTimeSource())
            }
            let first = downloaders[0].start(environment.request("/one"))
            await environment.server.bodyBytesSent(at: "/one", reaching: race.lag)
            let second = downloaders[1].start(environment.request("/one"))
            var successes = 0
            for download in [first, second] {
                do {
                    #expect(try await download.file.byteCount == Self.length)
                    successes += 1
                } catch let error as DownloadError {
                    #expect(error.code == .partialInUse, "\(error)")
                    #expect(error.retainedByteCount == 0, "the bytes belong to the other downloader")
                }
            }
            if successes > 0 { try checkFile(environment) }
            for downloader in downloaders { await downloader.shutdown() }
            // The next download succeeds with whatever they kept.
            #expect(try await environment.downloader.download(environment.request("/one")).byteCount == Self.length)
            try checkFile(environment)
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    private func checkFile(_ environment: TestEnvironment) throws {
        #expect(try Self.contents.contains { try environment.holds($0) }, "the file mixes two objects, or has neither")
    }
}
