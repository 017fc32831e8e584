internal import AsyncDownloads
internal import Foundation

/// The files in the directory after a session: finished ones, and unfinished ones that another downloader can resume.
struct FileCheck: Sendable {
    /// The maximum number of rounds, which exceeds the number of destinations of one URL.
    private static let turns = 20

    let site: SoakSite
    let engine: Engine

    /// Checks the files, resumes or discards the unfinished ones, and checks the files again.
    func examine(_ result: inout SoakSession.Result) async throws {
        let names = try names()
        result.keptCount = names.filter { $0.hasSuffix(".checkpoint") }.count
        result.findings += Self.findings(names)
        result.findings += try await resumeOrDiscard()
        let rest = try self.names()
        result.finishedCount = rest.filter { !$0.hasPrefix(".") }.count
        let hidden = rest.filter { $0.hasPrefix(".") }
        if !hidden.isEmpty {
            result.findings.append("\(hidden.count) hidden files are left in the end, such as \(hidden[0])")
        }
        for name in rest where !hidden.contains(name) {
            let isRight = SoakSite.index(ofFile: name).map { site.holds($0, at: site.directory.appending(path: name)) }
            if isRight != true { result.findings.append("\(name) differs from the resource on the server") }
        }
    }

    /// Returns the inconsistencies among the names of the files that a downloader has left.
    ///
    /// Each unfinished download has a partial file, a checkpoint, and at most one lock file.
    static func findings(_ names: [String]) -> [String] {
        var counts: [Substring: Int] = [:]
        for name in names where name.hasPrefix(".") {
            counts[name.split(separator: ".").last ?? "", default: 0] += 1
        }
        func count(_ kind: Substring) -> Int { counts.removeValue(forKey: kind) ?? 0 }
        let (partials, checkpoints, locks) = (count("partial"), count("checkpoint"), count("lock"))
        var findings = counts.sorted { $0.key < $1.key }.map {
            "\($0.value) hidden files with the suffix .\($0.key) are left"
        }
        if partials != checkpoints {
            findings.append("\(partials) partial files are left, but \(checkpoints) checkpoints")
        }
        if locks > checkpoints { findings.append("\(locks) lock files are left, but \(checkpoints) checkpoints") }
        return findings
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: site.directory.path).sorted()
    }

    /// Resumes every second unfinished download and discards the others.
    private func resumeOrDiscard() async throws -> [String] {
        var configuration = Downloader.Configuration()
        configuration.durability = .processCrash
        configuration.retryPolicy = RetryPolicy(maximumRetries: 10, baseDelay: .milliseconds(1))
        let downloader = engine.makeDownloader(configuration)
        var findings: [String] = []
        // Downloads of one URL share a transfer, which resumes from the bytes of one of them; each round handles one.
        for _ in 0..<Self.turns {
            let all = try await downloader.restore(in: site.directory)
            if all.isEmpty { break }
            for download in all where download.isCoalesced { download.cancel() }
            for (index, download) in all.filter({ !$0.isCoalesced }).enumerated() {
                if index.isMultiple(of: 2) { download.resume() } else { download.discard() }
            }
            for download in all {
                let ending = await download.result.ending
                if !["finished", "cancelled"].contains(ending) {
                    findings.append("a restored download ended with \(ending)")
                }
            }
        }
        await downloader.shutdown()
        return findings
    }
}
