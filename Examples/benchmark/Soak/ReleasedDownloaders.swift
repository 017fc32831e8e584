internal import AsyncDownloads
internal import Foundation

/// Downloaders that download one file each and are released without a shutdown.
struct ReleasedDownloaders: Sendable {
    private static let count = 20

    let site: SoakSite
    let engine: Engine

    /// Performs the downloads, and reports the downloads that did not finish and the descriptors that stayed open.
    func findings() async throws -> [String] {
        let before = try ProcessSample.openDescriptors().count
        var findings: [String] = []
        for number in 0..<Self.count {
            let ending = await download(number)
            if ending != "finished" {
                findings.append("the download of a downloader without a shutdown ended with \(ending)")
            }
        }
        for _ in 0..<1200 where try ProcessSample.openDescriptors().count > before {
            try await Task.sleep(for: .milliseconds(100))
        }
        let more = try ProcessSample.openDescriptors().count - before
        if more > 0 {
            findings.append("\(more) descriptors are left open by \(Self.count) downloaders without a shutdown")
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
