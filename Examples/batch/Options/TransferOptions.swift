internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

/// The options of all commands that download.
struct TransferOptions: ParsableArguments {
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
}
