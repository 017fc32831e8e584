#if ServerStack
internal import AsyncDownloads
internal import Foundation

/// Downloaders that nobody shuts down: each downloads one file and is let go of.
struct Strays: Sendable {
    private static let count = 20

    let site: SoakSite
    let engine: Engine

    /// What went wrong with their downloads, and whether their connections are still open.
    func findings() async throws -> [String] {
        let before = try ProcessSample.openDescriptors().count
        var findings: [String] = []
        for number in 0..<Self.count {
            let ending = await download(number)
            if ending != "finished" { findings.append("a downloader that nobody shut down: \(ending)") }
        }
        for _ in 0..<100 where try ProcessSample.openDescriptors().count > before {
            try await Task.sleep(for: .milliseconds(100))
        }
        let more = try ProcessSample.openDescriptors().count - before
        if more > 0 {
            findings.append("\(more) descriptors are left by \(Self.count) downloaders that nobody shut down")
        }
        return findings
    }

    private func download(_ number: Int) async -> String {
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        let downloader = engine.makeDownloader(configuration)
        // The first resource is served without faults.
        let request = DownloadRequest(
            from: site.url(0, variant: 0), to: site.directory.appending(path: "0-stray-\(number)"))
        return await downloader.start(request).result.ending
    }
}
#endif
