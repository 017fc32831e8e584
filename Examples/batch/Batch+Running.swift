internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

/// The actions of the command.
extension Batch {
    func run() async throws {
        if isDemonstration {
            try await Demonstration(console: console).run()
        } else if let cleaned {
            try await clean(URL(fileURLWithPath: cleaned, isDirectory: true))
        } else {
            try await download()
        }
    }

    private func download() async throws {
        OpenFileLimit.raise()
        // The results may be in the directory of the files, and their paths are compared with those of the files. If the
        // directory can't be created, the downloads report the reason.
        if !isAtomic, report != nil || failureManifest != nil {
            try? FileManager.default.createDirectory(at: destination, withIntermediateDirectories: true)
        }
        var feed = feed()
        try await feed.readAhead()
        let hasResults = report != nil || failureManifest != nil
        let results = hasResults ? try RunResults(report: report, failures: failureManifest) : nil
        // A mistake in the options leaves nothing behind.
        _ = try transfers.requestSettings
        let version = try await newVersion()
        let (outcome, signal) = try await transfers.download(feed, into: version, console: console, results: results)
        for line in outcome.lines(signal: signal) { StandardError.write("\(line)\n") }
        let status = outcome.exitStatus(signal: signal)
        if status != 0 { throw ExitCode(status) }
    }

    /// Returns the new version of the directory, if it is to be replaced in one step.
    private func newVersion() async throws -> StagedDirectory? {
        guard isAtomic else { return nil }
        do throws(DownloadError) {
            do throws(DownloadError) {
                return try await newVersion(.fail)
            } catch  where error.code == .partialInUse && transfers.inUse?.policy != .fail {
                if !display.quiet, !display.json {
                    let name = destination.lastPathComponent.distinctFromOptions
                    StandardError.write("waiting   for another run that replaces \(name)\n")
                }
                return try await newVersion(.wait)
            }
        } catch {
            StandardError.write("failed    \(error)\n")
            throw error.mayPass ? ExitCode(RunOutcome.temporaryFailure) : .failure
        }
    }

    private func newVersion(_ inUsePolicy: PartialInUsePolicy) async throws(DownloadError) -> StagedDirectory {
        try await StagedDirectory(
            for: destination, durability: transfers.downloaderConfiguration.durability, inUsePolicy: inUsePolicy)
    }

    private func clean(_ directory: URL) async throws {
        do throws(DownloadError) {
            // To the library, a missing directory has no leftovers, but here it is probably a misspelled one.
            guard (try? directory.checkResourceIsReachable()) == true else {
                throw DownloadError(
                    .destinationUnusable, "cannot list \(directory.lastPathComponent): no such directory")
            }
            let removed = try await Downloader().removeLeftovers(in: directory)
            if display.json { StandardOutput.write("\(JSONLine(removed))\n") }
            if !display.quiet, !display.json {
                StandardError.write(
                    "removed \(Units.count(removed.fileCount, "leftover file")), \(Units.bytes(removed.byteCount))\n")
            }
        } catch {
            StandardError.write("failed    \(error)\n")
            throw ExitCode.failure
        }
        if let failure = StandardOutput.failure {
            StandardError.write("failed    \(failure)\n")
            throw ExitCode.failure
        }
    }

    private var console: Console { display.console(keepsFiles: transfers.existing == .keep) }
}
