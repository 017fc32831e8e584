internal import Foundation
internal import LoopbackServer

/// One run of the benchmark: a short warm-up session, then the measured session.
///
/// In the warm-up, the process acquires the resources that it keeps until it exits.
struct Soak: Sendable {
    /// The minimum number of downloads, so that each tenth, after which a sample is taken, is large enough.
    static let fewest = 100

    /// The number of downloads from which memory is evaluated.
    ///
    /// In a shorter run, the memory that connections happen to hold hides leaks.
    static let enoughForMemory = 10_000

    private static let warmUp = 1000

    let downloads: Int
    let seed: UInt64
    let engine: Engine

    /// Performs the run in a temporary directory, and removes the directory.
    func run() async throws -> SoakReport {
        let home = FileManager.default.temporaryDirectory.appending(path: "benchmark-soak-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        // If the process crashes, the directory remains, and this message says where.
        FileHandle.standardError.write(Data("standard error is redirected to \(home.path)/standard-error\n".utf8))
        let errors = try ErrorOutput(into: home.appending(path: "standard-error"))
        let report: SoakReport
        do {
            report = try await measure(in: home)
        } catch {
            FileHandle.standardError.write(Data(try errors.restore().utf8))
            throw error
        }
        return report.adding(errorOutput: try errors.restore())
    }

    private func measure(in home: URL) async throws -> SoakReport {
        _ = try await session(min(downloads, Self.warmUp), in: home.appending(path: "warm-up"))
        let before = try ProcessSample.settled()
        let result = try await session(downloads, in: home.appending(path: "files"))
        // On a busy machine, an idle thread may exit much later.
        let after = try ProcessSample.settled(after: .seconds(120)) {
            $0.descriptors <= before.descriptors && $0.threads <= before.threads
        }
        return SoakReport(self, before: before, after: after, result: result)
    }

    private func session(_ count: Int, in directory: URL) async throws -> SoakSession.Result {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return try await LoopbackServer.withServer(keepsRequests: false) { server in
            let site = SoakSite(server: server, directory: directory)
            return try await SoakSession(site: site, downloads: count, seed: seed, engine: engine).run()
        }
    }
}
