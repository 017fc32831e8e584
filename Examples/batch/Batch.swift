#if ServerStack
internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation
internal import Logging

/// The command: what may be said on its line, and what is then done.
@main
struct Batch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract: "Downloads files, many at a time, and continues what an earlier run has left.",
        discussion: """
            Without any argument it demonstrates itself on a server of its own.

            A manifest has one URL a line and, under a URL, indented, what is special about it: out=NAME, \
            checksum=sha-256=HEX, header=Name: value, public-header=Name: value. Lines that begin with # are comments.

            Exit status: 0 all finished; 1 at least one failed; 64 wrong usage; 130 interrupted: everything is kept \
            and the same command continues.
            """)

    @Argument(help: ArgumentHelp("What to download.", valueName: "url"), transform: Address.init)
    var urls: [Address] = []

    @Option(name: .shortAndLong, help: ArgumentHelp("A manifest; - reads standard input.", valueName: "file"))
    var input: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Where the files go; created. (default: the current folder)", valueName: "dir"))
    var directory: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("A single URL's file name. (default: the server's, else the URL's)", valueName: "name"),
        transform: OutputName.init)
    var output: OutputName?

    @Option(name: .shortAndLong, help: ArgumentHelp("Downloads at a time. (default: 6)", valueName: "n"))
    var jobs: Int?

    @Option(help: ArgumentHelp("Attempts after the first, for what is worth them. (default: 5)", valueName: "n"))
    var retries: Int?

    @Option(help: ArgumentHelp("No byte for so long ends an attempt. (default: 30)", valueName: "seconds"))
    var timeout: Double?

    @Option(help: ArgumentHelp("The whole of one download, retries included. (default: none)", valueName: "seconds"))
    var deadline: Double?

    @Option(
        name: .customLong("max-bytes"),
        help: ArgumentHelp("Refuses longer bodies; K, M and G behind the digits. (default: no limit)", valueName: "n"),
        transform: ByteCount.init)
    var maximumByteCount: ByteCount?

    @Option(
        name: .customLong("in-use"), help: "What to do while another process downloads the same file. (default: wait)")
    var inUse: InUseName?

    @Option(
        help: ArgumentHelp("The digest of a single URL's file, by sha-256 or sha-512.", valueName: "algorithm=hex"),
        transform: Checksum.init(argument:))
    var checksum: Checksum?

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            "Sent with every request; repeatable. Stays with the URL's origin, and is never written to disk.",
            valueName: "name: value"),
        transform: HeaderLine.init)
    var headers: [HeaderLine] = []

    @Option(
        name: .customLong("public-header"),
        help: ArgumentHelp(
            "The same for what is no secret: it may go to another origin, and be recorded.", valueName: "name: value"),
        transform: HeaderLine.nonsecret)
    var publicHeaders: [HeaderLine] = []

    @Option(
        name: .customLong("clean"),
        help: ArgumentHelp(
            "Removes hidden files in a directory that nothing can continue, and that are a day old.", valueName: "dir"))
    var cleaned: String?

    @Option(help: "The transport. (default: http-client on Linux, urlsession on Apple's systems)")
    var engine: Engine?

    @Option(help: "What files survive, finished or not. (default: power-loss)")
    var durability: DurabilityName?

    @Flag(help: "One JSON object per event on standard output, nothing else there.")
    var json = false

    @Flag(name: .shortAndLong, help: "Errors only.")
    var quiet = false

    @Flag(name: .customLong("no-progress"), help: "No live display.")
    var hidesProgress = false

    /// Runs the command; the process ends with its status.
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        var command: any ParsableCommand
        do {
            command = try parseAsRoot(arguments)
        } catch {
            let message = UsageMessage(fullMessage(for: error), arguments: arguments)
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
        } catch {
            exit(withError: error)
        }
    }

    func run() async throws {
        // What the library logs is told by its events too, and would tear the display.
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        if isDemonstration {
            try await Demonstration(engine: engine, makeConsole: makeConsole, isQuiet: quiet || json).run()
        } else if let cleaned {
            try await clean(URL(fileURLWithPath: cleaned, isDirectory: true))
        } else {
            try await download(items())
        }
    }

    private func download(_ items: [Item]) async throws {
        let session = Session(
            downloader: Downloader(configuration: downloaderConfiguration), window: window,
            console: makeConsole(items.count))
        let signals = Signals { await session.stop() }
        defer { signals.cancel() }
        let tally = await session.run(items, into: destination)
        if tally.isInterrupted {
            StandardError.write("interrupted, \(tally.remainder); the same command continues\n")
            throw ExitCode(Signals.exitStatus)
        }
        if tally.failed > 0 { throw ExitCode.failure }
    }

    private func clean(_ directory: URL) async throws {
        do throws(DownloadError) {
            let removed = try await Downloader().removeLeftovers(in: directory)
            if json { StandardOutput.write("\(JSONLine(removed))\n") }
            if !quiet, !json {
                StandardError.write(
                    "removed \(removed.fileCount) leftover files, \(Units.bytes(removed.byteCount))\n")
            }
        } catch {
            StandardError.write("failed    \(error)\n")
            throw ExitCode.failure
        }
    }

    private func makeConsole(_ count: Int) -> Console {
        Console(itemCount: count, json: json, quiet: quiet, hidesProgress: hidesProgress)
    }
}
#endif
