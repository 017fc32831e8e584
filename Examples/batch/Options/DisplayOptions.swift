internal import ArgumentParser

/// The options that determine what a command writes to standard output and standard error.
struct DisplayOptions: ParsableArguments {
    @Flag(help: "Writes only events to standard output, one JSON object per line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Shows errors only.")
    var quiet = false

    @Flag(name: .customLong("no-progress"), help: "Hides the live display.")
    var hidesProgress = false

    /// Returns the console.
    ///
    /// - Parameter keepsFiles: Whether existing files are kept regardless of their contents.
    func console(keepsFiles: Bool) -> Console {
        Console(json: json, quiet: quiet, hidesProgress: hidesProgress, keepsFiles: keepsFiles)
    }
}
