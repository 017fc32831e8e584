internal import ArgumentParser

/// The command `benchmark`, with a subcommand for each measurement.
@main
struct Benchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmark",
        abstract: "Measures the library with local servers.",
        discussion: "Without a subcommand, the library is measured beside other programs (compare).",
        subcommands: [
            CompareCommand.self, FaultsCommand.self, ScaleCommand.self, SoakCommand.self, FetchCommand.self,
        ],
        defaultSubcommand: CompareCommand.self)
}
