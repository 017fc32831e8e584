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
            Without any arguments, the command runs a demonstration with a local server. 'batch split' divides a manifest \
            into units, and 'batch units' downloads them on one or many machines; each of the two has a --help.

            A manifest lists one URL per line; URLs of mirrors follow after tabs. Indented lines below a URL set its \
            options: out=PATH, dir=DIRECTORY, name=NAME, size=BYTES, checksum=sha-256=HEX, header=NAME: VALUE, \
            public-header=NAME: VALUE, and mirror=URL. Lines that start with # are comments. A line can also be a JSON object with the members url, \
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
        name: [.customShort("i"), .customLong("input")],
        help: ArgumentHelp("A manifest of more URLs, or - for standard input; repeatable.", valueName: "file"))
    var inputs: [String] = []

    @Option(
        help: ArgumentHelp(
            "A list of digests, such as SHA256SUMS: the files in it are downloaded from below --base, and verified; "
                + "repeatable.",
            valueName: "file"))
    var checksums: [String] = []

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

    @OptionGroup var transfers: TransferOptions

    @Option(
        help: ArgumentHelp(
            "The expected SHA-256 or SHA-512 digest of the file of a single URL.", valueName: "algorithm=hex"),
        transform: Checksum.init(argument:))
    var checksum: Checksum?

    @Option(
        name: .customLong("clean"),
        help: ArgumentHelp(
            "Removes leftovers from a directory: hidden files, at least a day old, that no download can continue.",
            valueName: "dir"))
    var cleaned: String?

    @Flag(
        name: .customLong("atomic"),
        help:
            "Makes the directory (-d) appear, or change, in one step after all downloads, and only if none has failed."
    )
    var isAtomic = false

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

    @OptionGroup var display: DisplayOptions
}
