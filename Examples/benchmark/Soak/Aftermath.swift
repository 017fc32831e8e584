internal import AsyncDownloads
internal import Foundation

/// What is left in the directory: finished files, and unfinished ones that another downloader can take up.
struct Aftermath: Sendable {
    private static let ownSuffixes = ["lock", "partial", "checkpoint", "temp", "copy"]

    let site: SoakSite
    let engine: Engine

    /// Looks at every file, then continues or discards all that is unfinished and looks again.
    func examine(_ result: inout SoakSession.Result) async throws {
        let names = try names()
        result.keptCount = names.filter { $0.hasSuffix(".checkpoint") }.count
        result.findings += Self.findings(names)
        result.findings += try await takeUp()
        let rest = try self.names()
        result.finishedCount = rest.filter { !$0.hasPrefix(".") }.count
        let hidden = rest.filter { $0.hasPrefix(".") }
        if !hidden.isEmpty {
            result.findings.append("\(hidden.count) hidden files are left after all, as \(hidden[0])")
        }
        for name in rest where !hidden.contains(name) {
            let isRight = SoakSite.index(ofFile: name).map { site.holds($0, at: site.directory.appending(path: name)) }
            if isRight != true { result.findings.append("\(name) is not what the server has") }
        }
    }

    /// What is wrong with the names of the files that a downloader has left.
    static func findings(_ names: [String]) -> [String] {
        var counts: [String: Int] = [:]
        for name in names where name.hasPrefix(".") {
            let suffix = name.split(separator: ".").last.map(String.init) ?? ""
            counts[ownSuffixes.contains(suffix) ? suffix : "unknown", default: 0] += 1
        }
        var findings: [String] = []
        for kind in ["temp", "copy", "unknown"] {
            if let count = counts[kind] { findings.append("\(count) hidden files are left that are \(kind)") }
        }
        let (partials, checkpoints) = (counts["partial", default: 0], counts["checkpoint", default: 0])
        if partials != checkpoints { findings.append("\(partials) partials are left with \(checkpoints) checkpoints") }
        return findings
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: site.directory.path).sorted()
    }

    /// Continues every second one of what is unfinished and discards the others.
    private func takeUp() async throws -> [String] {
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        configuration.retryPolicy = RetryPolicy(maximumRetries: 5, baseDelay: .milliseconds(1))
        let downloader = Downloader(
            configuration: configuration, transport: engine.makeTransport(),
            store: DiskStore(durability: .processCrash), time: SystemTimeSource())
        var findings: [String] = []
        // Those of one URL share a transfer, which takes up the bytes of one, so they take turns.
        while true {
            let all = try await downloader.restore(in: site.directory)
            if all.isEmpty { break }
            for download in all where download.isCoalesced { download.cancel() }
            for (index, download) in all.filter({ !$0.isCoalesced }).enumerated() {
                if index.isMultiple(of: 2) { download.resume() } else { download.discard() }
            }
            for download in all {
                let ending = await download.result.ending
                if !["finished", "cancelled"].contains(ending) { findings.append("what was kept ended as \(ending)") }
            }
        }
        await downloader.shutdown()
        return findings
    }
}
