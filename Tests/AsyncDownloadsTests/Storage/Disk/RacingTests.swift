import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Two downloaders, each with a store of its own, that race for one file on a real disk where every lock is granted to
/// everybody (rule 50).
@Suite("Two downloaders without a lock", .endsWhenHung, .serialized)
struct RacingTests {
    /// A race, drawn from a seed.
    struct Race: Sendable, CustomTestStringConvertible {
        let seed: UInt64
        /// How many bytes the server has sent when the second one starts.
        let lag: Int64
        /// Whether the server has another representation for whoever asks second.
        let changes: Bool
        let engine: Engine
        let durability: Durability

        init(seed: UInt64) {
            var generator = SplitMix64(seed: seed)
            self.seed = seed
            lag = seed.isMultiple(of: 5) ? 0 : Int64.random(in: 1...5 << 20, using: &generator)
            changes = Bool.random(using: &generator)
            engine = Engine.allCases.randomElement(using: &generator) ?? .httpClient
            durability = Bool.random(using: &generator) ? .powerLoss : .processCrash
        }

        var testDescription: String { "seed \(seed), \(engine), after \(lag), \(changes ? "changed" : "the same")" }
    }

    private static let length: Int64 = 6 << 20
    private static let contents = [Content(seed: 50, length: length), Content(seed: 51, length: length)]

    @Test(
        "end with one whole file, and whoever lost says so",
        arguments: (1...30).map { Race(seed: $0) })
    func race(_ race: Race) async throws {
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
                    store: DiskStore(
                        disk: PretendingFileSystem(locks: .pretended), durability: race.durability, bootID: "boot"),
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
                    #expect(error.retainedByteCount == 0, "they are another's")
                }
            }
            if successes > 0 { try checkFile(environment) }
            for downloader in downloaders { await downloader.shutdown() }
            // Whatever they left, the next one comes to an end with it.
            #expect(try await environment.downloader.download(environment.request("/one")).byteCount == Self.length)
            try checkFile(environment)
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    private func checkFile(_ environment: TestEnvironment) throws {
        #expect(try Self.contents.contains { try environment.holds($0) }, "the file is of two, or of none")
    }
}
