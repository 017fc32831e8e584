#if ServerStack
internal import ArgumentParser

/// The command: each subcommand measures one thing.
@main
struct Benchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmark",
        abstract: "Measures the library on servers of its own.",
        subcommands: [SoakCommand.self])
}
#endif
