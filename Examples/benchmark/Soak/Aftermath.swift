#if ServerStack
internal import AsyncDownloads
internal import Foundation

/// What is left in the directory: finished files, and unfinished ones that another downloader can take up.
struct Aftermath: Sendable {
    /// More than there are destinations of one URL.
    private static let turns = 20

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
    ///
    /// Of each unfinished download there are the bytes, the checkpoint that speaks of them, and a lock.
    static func findings(_ names: [String]) -> [String] {
        var counts: [Substring: Int] = [:]
        for name in names where name.hasPrefix(".") {
            counts[name.split(separator: ".").last ?? "", default: 0] += 1
        }
        func count(_ kind: Substring) -> Int { counts.removeValue(forKey: kind) ?? 0 }
        let (partials, checkpoints, locks) = (count("partial"), count("checkpoint"), count("lock"))
        var findings = counts.sorted { $0.key < $1.key }.map {
            "\($0.value) hidden files are left that end in .\($0.key)"
        }
        if partials != checkpoints { findings.append("\(partials) partials are left with \(checkpoints) checkpoints") }
        if locks > checkpoints { findings.append("\(locks) locks are left with \(checkpoints) checkpoints") }
        return findings
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: site.directory.path).sorted()
    }

    /// Continues every second one of what is unfinished and discards the others.
    private func takeUp() async throws -> [String] {
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        configuration.retryPolicy = RetryPolicy(maximumRetries: 10, baseDelay: .milliseconds(1))
        let downloader = engine.makeDownloader(configuration)
        var findings: [String] = []
        // Those of one URL share a transfer, which takes up the bytes of one, so they take turns.
        for _ in 0..<Self.turns {
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
#endif
