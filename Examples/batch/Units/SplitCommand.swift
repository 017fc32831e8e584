internal import ArgumentParser
internal import Foundation

/// The command `batch split`, which divides a manifest into units for several processes or machines.
struct SplitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch split",
        abstract: "Divides a manifest into units, which batch units downloads on one or many machines.",
        discussion: """
            Each unit is a manifest that batch -i can read as well. All lines of a host are in the units of one lane, and \
            batch units gives a lane to one task only, so that limits for each host hold for all tasks together. With \
            --by line, lines are divided in their order, which suits hosts that permit any number of connections.

            The directory is complete when it exists. The units contain the secret headers of the manifest, so only the user \
            can read them.
            """)

    /// The property that the lines of a unit have in common.
    enum Grouping: String, CaseIterable, ExpressibleByArgument {
        case host, line
    }

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The manifest, or - for standard input.", valueName: "file"))
    var input: String?

    @Option(
        help: ArgumentHelp(
            "A list of digests, such as SHA256SUMS, in place of a manifest; requires --base.", valueName: "file"))
    var checksums: String?

    @Option(
        help: ArgumentHelp("The URL of a directory, to which the URLs and names are relative.", valueName: "url"),
        transform: BaseAddress.init)
    var base: BaseAddress?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The directory for the units, which must not exist or be empty.", valueName: "dir"))
    var output: String

    @Option(help: ArgumentHelp("The number of lines of each unit but the last ones.", valueName: "n"))
    var lines = 10_000

    @Option(help: "What the units are divided by: host or line.")
    var by = Grouping.host

    func validate() throws {
        if output.isEmpty { throw ValidationError("the directory is empty") }
        guard (input == nil) != (checksums == nil) else {
            throw ValidationError("batch split requires a manifest with -i, or a list of digests with --checksums")
        }
        if checksums != nil, base == nil { throw ValidationError("--checksums requires --base, the URL of its files") }
        guard 1...10_000_000 ~= lines else { throw ValidationError("--lines requires a number from 1 to 10000000") }
    }

    func run() async throws {
        let reader =
            if let input { ManifestReader(input, ManifestParser(.downloads, base: base), patience: nil) } else {
                ManifestReader(checksums ?? "-", ManifestParser(.digests, base: base), patience: nil)
            }
        let signals = Signals { reader.cancel() }
        defer { signals.cancel() }
        var writer = try UnitWriter(output, by: by, lineCount: lines)
        do {
            var feed = ItemFeed([], [reader], into: URL(fileURLWithPath: "."))
            while let (item, _) = try await feed.next() { try writer.add(item) }
            if let signal = signals.received { throw ExitCode(Signals.exitStatus(of: signal)) }
            let index = try writer.finish()
            StandardError.write(
                "\(Units.count(index.count, "file")) in \(Units.count(index.units.count, "unit")), \(output)\n")
        } catch {
            writer.discard()
            throw error
        }
    }
}
