internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation
internal import Logging

/// The command `batch`: its arguments and options, and its actions.
@main
struct Batch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract: "Downloads many files at a time, and continues the unfinished downloads of earlier runs.",
        discussion: """
            Without URLs or a manifest, the command runs a demonstration with a local server.

            A manifest lists one URL per line. Indented lines below a URL set its options: out=NAME, \
            checksum=sha-256=HEX, header=Name: value, and public-header=Name: value. Lines that start with # are \
            comments.

            Files whose URLs end in the same name get numbers in the order of the URLs: image.jpg, image-2.jpg.

            Exit status: 0 if all downloads finished; 1 if at least one failed; 64 for wrong usage; 130 if the run \
            was interrupted. An interrupted run keeps the received bytes, and the same command continues it.
            """)

    @Argument(help: ArgumentHelp("The URLs to download.", valueName: "url"), transform: Address.init)
    var urls: [Address] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("A manifest of further URLs, or - for standard input.", valueName: "file"))
    var input: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The directory for the files, created if necessary. (default: the current directory)", valueName: "dir"))
    var directory: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file name for a single URL. (default: the name from the server, or from the URL)", valueName: "name"),
        transform: OutputName.init)
    var output: OutputName?

    @Flag(
        name: .customLong("directories"),
        help: "Keeps the directories of each URL's path, without the host, below the directory for the files.")
    var keepsDirectories = false

    @Option(
        name: .customLong("cut-dirs"),
        help: ArgumentHelp(
            "The number of directories that --directories removes from the start of each path. (default: 0)",
            valueName: "n"))
    var cutDirectoryCount: Int?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The maximum number of concurrent downloads, over all hosts. (default: 64)", valueName: "n"))
    var jobs: Int?

    @Option(
        name: .customLong("per-host"),
        help: ArgumentHelp(
            "The number of concurrent downloads from one host. (default: adaptive, at most 64)", valueName: "n"))
    var jobsPerHost: Int?

    @Option(
        name: [.customShort("x"), .long],
        help: ArgumentHelp(
            "The number of connections for each large file, 1 to 16. (default: as many as increase the rate)",
            valueName: "n"))
    var connections: Int?

    @Option(
        help: ArgumentHelp(
            "The maximum number of requests to one host in any period of this length, spaced evenly. (default: no limit)",
            valueName: "n/seconds"),
        transform: RequestPace.init(argument:))
    var pace: RequestPace?

    @Option(
        help: ArgumentHelp(
            "The maximum number of bytes per second over all downloads; K, M, or G may follow the digits. "
                + "(default: no limit)", valueName: "rate"),
        transform: ByteCount.init)
    var limitRate: ByteCount?

    @Option(
        name: .customLong("min-rate"),
        help: ArgumentHelp(
            "The number of bytes per second below which a connection is replaced; K, M, or G may follow the digits. "
                + "(default: none)", valueName: "rate"),
        transform: ByteCount.init)
    var minimumRate: ByteCount?

    @Option(
        help: ArgumentHelp(
            "The maximum number of retries after a temporary failure. (default: 5)", valueName: "n"))
    var retries: Int?

    @Option(
        help: ArgumentHelp(
            "The time for which downloads wait for a host that can't be reached, and has answered before. (default: 300)",
            valueName: "seconds"))
    var hostPatience: Double?

    @Option(
        help: ArgumentHelp("The time without a received byte that ends an attempt. (default: 30)", valueName: "seconds")
    )
    var timeout: Double?

    @Option(
        help: ArgumentHelp(
            "The maximum duration of one download, including retries. (default: no limit)", valueName: "seconds"))
    var deadline: Double?

    @Option(
        name: .customLong("max-bytes"),
        help: ArgumentHelp(
            "The maximum length of a file in bytes; K, M, or G may follow the digits. (default: no limit)",
            valueName: "n"),
        transform: ByteCount.init)
    var maximumByteCount: ByteCount?

    @Option(
        name: .customLong("in-use"),
        help: "The behavior if another process downloads the same file. (default: wait)")
    var inUse: InUseName?

    @Option(
        help: ArgumentHelp(
            "What happens to a file that exists already: used again if it is proven to be unchanged, used whatever it "
                + "contains, replaced, or an error. (default: reuse)"))
    var existing: ExistingName?

    @Option(
        help: ArgumentHelp(
            "The expected SHA-256 or SHA-512 digest of the file of a single URL.", valueName: "algorithm=hex"),
        transform: Checksum.init(argument:))
    var checksum: Checksum?

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            "A secret header, sent to the origin of each URL only and never written to disk; repeatable.",
            valueName: "name: value"),
        transform: HeaderLine.init)
    var headers: [HeaderLine] = []

    @Option(
        name: .customLong("public-header"),
        help: ArgumentHelp(
            "A header that is not secret: it may be sent to other origins and recorded on disk; repeatable.",
            valueName: "name: value"),
        transform: HeaderLine.nonsecret)
    var publicHeaders: [HeaderLine] = []

    @Option(
        name: .customLong("clean"),
        help: ArgumentHelp(
            "Removes leftovers from a directory: hidden files, at least a day old, that no download can continue.",
            valueName: "dir"))
    var cleaned: String?

    @Option(help: "The HTTP engine. (default: nio on Linux, urlsession on Apple platforms)")
    var engine: Engine?

    @Option(
        name: .customLong("ca-file"),
        help: ArgumentHelp(
            "A file of root certificates in PEM format, trusted in addition to those of the system.",
            valueName: "file"),
        transform: TrustRoots.init(argument:))
    var trustRoots: TrustRoots?

    @Option(
        name: .customLong("client-certificate"),
        help: ArgumentHelp(
            "A file of the certificate and the private key in PEM format that are presented to servers that request one.",
            valueName: "file"),
        transform: ClientIdentity.init(argument:))
    var clientIdentity: ClientIdentity?

    @Option(
        help: ArgumentHelp(
            "The proxy, with the scheme http, https, or socks5; or none. (default: the one that http_proxy, https_proxy, "
                + "or all_proxy names)", valueName: "url"),
        transform: ProxyAddress.init)
    var proxy: ProxyAddress?

    @Option(help: "What finished and unfinished files survive. (default: power-loss)")
    var durability: DurabilityName?

    @Flag(help: "Writes only events to standard output, one JSON object per line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Shows errors only.")
    var quiet = false

    @Flag(name: .customLong("no-progress"), help: "Hides the live display.")
    var hidesProgress = false

    /// Parses the arguments, runs the command, and exits with its status.
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
        // The events contain everything that the library logs, and log lines would disturb the live display.
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
        OpenFileLimit.raise()
        let session = Session(
            downloader: Downloader(configuration: downloaderConfiguration), window: window,
            console: makeConsole(items.count))
        let signals = Signals { await session.stop() }
        defer { signals.cancel() }
        let tally = await session.run(items, into: destination)
        if tally.isInterrupted {
            StandardError.write("interrupted; \(tally.remainder); run the same command again to continue\n")
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
        Console(
            itemCount: count, json: json, quiet: quiet, hidesProgress: hidesProgress, keepsFiles: existing == .keep)
    }
}
