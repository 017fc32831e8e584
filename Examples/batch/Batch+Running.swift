internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation
internal import Logging

/// The actions of the command.
extension Batch {
    /// Parses the arguments, runs the command, and exits with its status.
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        var command: any ParsableCommand
        do {
            command = try parseAsRoot(arguments)
        } catch {
            let message = UsageMessage(fullMessage(for: error), arguments: arguments, options: optionNames)
            let code = exitCode(for: error)
            if code.isSuccess { exit(withError: error) }
            StandardError.write("\(message)\n")
            exit(withError: code)
        }
        do {
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as any UserError {
            StandardError.write("Error: \(error)\n")
            exit(withError: ExitCode.validationFailure)
        } catch {
            exit(withError: error)
        }
    }

    /// The names of all options, with their hyphens.
    static var optionNames: Set<String> {
        Set(
            helpMessage(includeHidden: true, columns: 200).matches(of: /--[a-z0-9][a-z0-9-]*/).map { String($0.output) }
        )
    }

    func run() async throws {
        // The events contain everything that the library logs, and log lines would disturb the live display.
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        if isDemonstration {
            try await Demonstration(console: console).run()
        } else if let cleaned {
            try await clean(URL(fileURLWithPath: cleaned, isDirectory: true))
        } else {
            try await download()
        }
    }

    private func download() async throws {
        var feed = feed()
        try await feed.readAhead()
        let results = try RunResults(report: report, failures: failureManifest)
        OpenFileLimit.raise()
        let session = Session(
            downloaderConfiguration, settings: try requestSettings, window: window, console: console, results: results)
        let signals = Signals { await session.stop() }
        defer { signals.cancel() }
        let outcome = await session.run(feed, into: destination)
        for line in outcome.lines(signal: signals.received) { StandardError.write("\(line)\n") }
        let status = outcome.exitStatus(signal: signals.received)
        if status != 0 { throw ExitCode(status) }
    }

    private func clean(_ directory: URL) async throws {
        do throws(DownloadError) {
            let removed = try await Downloader().removeLeftovers(in: directory)
            if json { StandardOutput.write("\(JSONLine(removed))\n") }
            if !quiet, !json {
                StandardError.write(
                    "removed \(Units.count(removed.fileCount, "leftover file")), \(Units.bytes(removed.byteCount))\n")
            }
        } catch {
            StandardError.write("failed    \(error)\n")
            throw ExitCode.failure
        }
    }

    private var console: Console {
        Console(json: json, quiet: quiet, hidesProgress: hidesProgress, keepsFiles: existing == .keep)
    }
}
