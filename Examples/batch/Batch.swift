internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

/// The command `batch`: its arguments and options, and its actions.
@main
struct Batch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract: "Downloads many files at a time, and continues the unfinished downloads of earlier runs.",
        discussion: """
            Without any arguments, the command runs a demonstration with a local server.

            A manifest lists one URL per line; URLs of mirrors follow after tabs. Indented lines below a URL set its \
            options: out=PATH, dir=DIRECTORY, checksum=sha-256=HEX, header=NAME: VALUE, public-header=NAME: VALUE, and \
            mirror=URL. Lines that start with # are comments. A line can also be a JSON object with the members url, \
            out, sha256, headers, mirrors, and size. Manifests may be compressed with gzip.

            Files whose URLs end in the same name get numbers in the order of the URLs: image.jpg, image-2.jpg.

            Exit status: 0 if all downloads finished; 75 if some failed for a reason that may pass, so that the same \
            command may succeed later; 1 if some failed permanently, or if the disk is full; 64 for wrong usage; 130, \
            143, or 129 if SIGINT, SIGTERM, or SIGHUP interrupted the run. An interrupted run keeps the received bytes, \
            and the same command continues it.
            """,
        version: "batch 1.0.0-dev")

    @Argument(help: ArgumentHelp("The URLs to download.", valueName: "url"), transform: Address.init)
    var urls: [Address] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("A manifest of further URLs, or - for standard input.", valueName: "file"))
    var input: String?

    @Option(
        help: ArgumentHelp(
            "A list of digests, such as SHA256SUMS: the files in it are downloaded from below --base, and verified.",
            valueName: "file"))
    var checksums: String?

    @Option(
        help: ArgumentHelp(
            "The URL of a directory, to which the URLs in a manifest and the names in --checksums are relative.",
            valueName: "url"),
        transform: BaseAddress.init)
    var base: BaseAddress?

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
        help: ArgumentHelp(
            "The behavior if another process downloads the same file: wait or fail. (default: wait)",
            visibility: .hidden),
        transform: InUseName.named)
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

    @Flag(
        name: .customLong("remote-time"),
        help: "Sets the modification times of files to the times that the servers report in Last-Modified.")
    var usesRemoteTime = false

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            "A secret header, sent to the origin of each URL only and never written to disk; repeatable. Other users of "
                + "the machine can see the arguments of commands, so put a token into a file, and use --header @FILE.",
            valueName: "name: value"),
        transform: HeaderList.init)
    var headerLists: [HeaderList] = []

    @Option(
        name: .customLong("public-header"),
        help: ArgumentHelp(
            "A header that is not secret: it may be sent to other origins and recorded on disk; repeatable.",
            valueName: "name: value"),
        transform: HeaderLine.nonsecret)
    var publicHeaders: [HeaderLine] = []

    @Flag(
        name: .customLong("netrc"),
        help: "Uses the logins in ~/.netrc, or in the file that the variable NETRC names, for exactly the hosts in it.")
    var usesNetrc = false

    @Option(
        name: .customLong("load-cookies"),
        help: ArgumentHelp("A file of cookies in Netscape's format, which are sent as they apply.", valueName: "file"),
        transform: CookieFile.init(argument:))
    var cookies: CookieFile?

    @Option(
        name: .customLong("clean"),
        help: ArgumentHelp(
            "Removes leftovers from a directory: hidden files, at least a day old, that no download can continue.",
            valueName: "dir"))
    var cleaned: String?

    @Option(
        help: ArgumentHelp(
            "The HTTP engine: nio, http-client, or urlsession. (default: nio on Linux, urlsession on Apple platforms)",
            visibility: .hidden),
        transform: Engine.named)
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

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Connects to IPv4 addresses only.")
    var usesIPv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Connects to IPv6 addresses only.")
    var usesIPv6 = false

    @Option(
        help: ArgumentHelp(
            "What finished and unfinished files survive: power-loss or process-crash. (default: power-loss)",
            visibility: .hidden),
        transform: DurabilityName.named)
    var durability: DurabilityName?

    @Option(
        help: ArgumentHelp(
            "A file for a report on all downloads, one JSON document, written when the run ends.", valueName: "file"))
    var report: String?

    @Option(
        name: .customLong("failed"),
        help: ArgumentHelp(
            "A file for a manifest of the failed downloads, written when the run ends; for -i of another run.",
            valueName: "file"))
    var failureManifest: String?

    @Flag(help: "Writes only events to standard output, one JSON object per line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Shows errors only.")
    var quiet = false

    @Flag(name: .customLong("no-progress"), help: "Hides the live display.")
    var hidesProgress = false
}
